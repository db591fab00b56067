"""Caveats: when not to rely on a comparison, in words."""

from __future__ import annotations

from truerank.errors import joined
from truerank.estimators import Estimate, Sample
from truerank.estimators.bounds.remedies import next_design
from truerank.estimators.estimate_metrics import FEW_USERS
from truerank.ranking import RankCounts, RankTable

Ranks = RankTable | RankCounts


def caveats_of(
    names: tuple[str, str],
    samples: tuple[Sample, Sample],
    estimates: tuple[Estimate, Estimate],
) -> str:
    """What speaks against a difference of two estimates; empty if nothing does."""
    found = []
    tables = samples[0].ranks, samples[1].ranks
    one, other = estimates
    if "naive" in (one.method, other.method):
        found.append(
            "the naive metric belongs to the sample, not to the catalogue, and may order models "
            "the other way round"
        )
    blind = [name for name, e in zip(names, estimates, strict=True) if e.diagnostics.blind]
    if blind:
        advice = dict.fromkeys(
            next_design(table.header.design)
            for table, e in zip(tables, estimates, strict=True)
            if e.diagnostics.blind
        )
        found.append(
            f"the samples of {' and '.join(blind)} hardly determine {one.metric}: the estimate "
            f"rests on smoothness; {'; '.join(advice)}"
        )
    kinds = [sample.exact for sample in samples]
    for name, e in zip(names, estimates, strict=True):
        found += [f"{name} is " + note for note in e.diagnostics.suspicions]
    if kinds[0] != kinds[1]:
        sampled = names[kinds.index(False)]
        found.append(f"only {sampled} is estimated: a bias of its estimate stays in the difference")
    elif not kinds[0]:
        found += _unlike(tables)
    found += _origin_caveats(names, tables)
    found += _tie_caveats(names, tables)
    if one.n_users < FEW_USERS and not (one.known and other.known):
        found.append(f"{one.n_users} users are too few for any interval")
    return joined("; ", found)


def _unlike(tables: tuple[Ranks, Ranks]) -> list[str]:
    """Sampled alike, errors cancel in the difference; sampled differently, they do not."""
    first, second = (table.header for table in tables)
    if first.design.kind != second.design.kind or first.replacement != second.replacement:
        return ["the two tables were sampled differently, so their errors do not cancel"]
    if first.seed != second.seed:
        return ["the two tables met different rivals (seeds differ), so noise does not cancel"]
    return []


def _origin_caveats(names: tuple[str, str], tables: tuple[Ranks, Ranks]) -> list[str]:
    """Rows in common of different splits: only ``align='common'`` lets them through."""
    told = " and ".join(names)
    first, second = (table.header for table in tables)
    found = []
    for one, other, what in (
        (first.data, second.data, "were fitted on different training data"),
        (first.split, second.split, "come from different splits"),
    ):
        if one is not None and other is not None and one != other:
            found.append(f"{told} {what}, so one may have seen more, or what is held out here")
    return found[:1]


def _tie_caveats(names: tuple[str, str], tables: tuple[Ranks, Ranks]) -> list[str]:
    """Where equal scores could decide; rules that contradict each other are refused before."""
    rules = [table.header.ties for table in tables]
    found = []
    if "optimistic" in rules:
        who = " and ".join(n for n, rule in zip(names, rules, strict=True) if rule == "optimistic")
        found.append(
            f"the ties of {who} are optimistic: a model that gives many items the same score looks "
            "better than it is"
        )
    exact = [table.all_exact for table in tables]
    if rules[0] == rules[1] == "half" and exact[0] != exact[1]:
        found.append(
            "ties='half' puts a target into the middle of its ties in a full ranking and anywhere "
            "among them in samples, so equal scores may make the difference; use ties='random'"
        )
    if rules[0] != rules[1]:
        told = " and ".join(f"{n} {rule}" for n, rule in zip(names, rules, strict=True))
        found.append(f"tie rules differ ({told}), so equal scores may make the difference")
    return found
