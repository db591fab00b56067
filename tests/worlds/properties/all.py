"""What must hold whatever the world: small functions, each of one sentence, in one table."""

from __future__ import annotations

from collections.abc import Callable

from ..world import World
from . import estimates, exact_ranks, invariance, samples, verdicts

PROPERTIES: dict[str, Callable[[World], None]] = {
    check.__name__: check
    for check in (
        exact_ranks.rows_are_the_split,
        exact_ranks.exact_ranks_equal_reference,
        exact_ranks.targets_have_places_of_their_own,
        samples.table_is_sound,
        samples.sampled_ranks_are_possible,
        samples.shared_ranks_equal_reference,
        samples.the_first_is_never_dropped,
        samples.what_is_scored_is_counted,
        samples.exact_rows_are_exact,
        samples.sampling_everything_is_exact,
        samples.adaptive_that_cannot_grow_is_sampled,
        samples.defaults_take_any_size,
        samples.sampled_ranks_are_unbiased,
        samples.users_are_drawn_fairly,
        invariance.executors_agree,
        invariance.parts_rank_as_the_whole,
        invariance.order_of_rows_is_irrelevant,
        invariance.order_of_pairs_is_irrelevant,
        invariance.tables_survive_parquet,
        invariance.shards_make_the_whole,
        invariance.order_of_a_table_is_irrelevant,
        invariance.users_all_is_full,
        estimates.estimates_are_sound,
        estimates.any_metric_is_answered_or_refused,
        estimates.exact_estimates_are_means_over_users,
        estimates.estimates_lie_in_their_bounds,
        estimates.distributions_sum_to_one,
        verdicts.compare_gives_a_verdict,
        verdicts.no_model_beats_itself,
        verdicts.users_all_has_the_verdict_of_full,
    )
}
