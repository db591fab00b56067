"""When not to trust a comparison, in words."""

from __future__ import annotations

from truerank.estimators import Estimate
from truerank.estimators.ceiling import ceiling_notes
from truerank.ranking import RankTable

FEW_USERS = 30
"""Below this many users neither resampling nor a normal interval means much."""


def doubts(
    names: tuple[str, str],
    tables: tuple[RankTable, RankTable],
    estimates: tuple[Estimate, Estimate],
) -> str:
    """What speaks against a difference of two estimates; empty if nothing does."""
    found = []
    one, other = estimates
    if "naive" in (one.method, other.method):
        found.append(
            "the naive metric belongs to the sample, not to the catalogue, and may order models "
            "the other way round"
        )
    blind = [name for name, e in zip(names, estimates, strict=True) if e.diagnostics.blind]
    if blind:
        found.append(
            f"the samples of {' and '.join(blind)} hardly determine {one.metric}: the estimate "
            "rests on smoothness; a design such as Adaptive() looks where it matters"
        )
    kinds = [bool(table.is_exact.all()) for table in tables]
    for name, table, exact in zip(names, tables, kinds, strict=True):
        found += [f"{name} is {note}" for note in ceiling_notes(table) if exact]
    if kinds[0] != kinds[1]:
        sampled = names[kinds.index(False)]
        found.append(f"only {sampled} is estimated: a bias of its estimate stays in the difference")
    elif not kinds[0]:
        found += _unlike(tables)
    if one.n_users < FEW_USERS:
        found.append(f"{one.n_users} users are too few for any interval")
    return "; ".join(found)


def _unlike(tables: tuple[RankTable, RankTable]) -> list[str]:
    """Sampled alike, errors cancel in the difference; sampled differently, they do not."""
    first, second = (table.header for table in tables)
    kinds = first.design.get("kind"), second.design.get("kind")
    if kinds[0] != kinds[1] or first.replacement != second.replacement:
        return ["the two tables were sampled differently, so their errors do not cancel"]
    if first.seed != second.seed:
        return ["the two tables met different rivals (seeds differ), so noise does not cancel"]
    return []
