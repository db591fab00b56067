"""The (data set, model) pairs that are measured, and where reports go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truerank.cli.output import new_file, ready, remark

if TYPE_CHECKING:
    from truerank.reproduce.accuracy import StudyPlan
    from truerank.reproduce.exact_ranks import Candidates, ExactRanks

Line = TypeVar("Line")


def exact_pairs(
    data: list[str] | None, models: list[str] | None, candidates: str, cache: Path | None
) -> list[ExactRanks]:
    """Exact ranks of what was asked for, fitted where they are not kept yet."""
    from truerank.data import load_dataset
    from truerank.errors import InvalidArgumentError
    from truerank.execution import Progress
    from truerank.reproduce.exact_ranks import exact_ranks, found_data_sets
    from truerank.reproduce.fitted import ModelName, available_models

    rule: Candidates = "all" if candidates == "all" else "unseen"
    if candidates != rule:
        raise InvalidArgumentError("candidates", candidates, "'all' or 'unseen'")
    for model in models or []:
        ModelName.parse(model)
    names = {name: models or available_models(load_dataset(name).n_items)
             for name in data or found_data_sets()}  # fmt: skip
    pairs = []
    with Progress("exact ranks", total=sum(map(len, names.values()))) as bar:
        for name, wanted in names.items():
            pairs += exact_ranks(name, list(wanted), candidates=rule, cache=cache, done=bar.advance)
    return pairs


def measured(
    label: str,
    pairs: list[ExactRanks],
    plan: StudyPlan,
    repeats: int,
    measure: Callable[[ExactRanks, Callable[[], None]], tuple[list[Line], list[str]]],
) -> tuple[list[Line], list[str]]:
    """All lines and refusals, under a progress bar that counts estimates."""
    from truerank.execution import Progress

    lines: list[Line] = []
    refusals: list[str] = []
    estimates = repeats * sum(len(methods) for _, methods in plan)
    with Progress(label, total=len(pairs) * estimates) as bar:
        for pair in pairs:
            more, refused = measure(pair, bar.advance)
            lines += more
            refusals += refused
    return lines, refusals


def report_file(folder: Path | None, name: str, *, force: bool) -> Path | None:
    """Where the report goes, checked before the work starts; None for nowhere."""
    return None if folder is None else new_file(folder / name, force=force, inputs=())


def write_report(path: Path | None, report: dict[str, Any]) -> None:
    """The report as JSON, whole or not at all."""
    import json

    from truerank.files import written_whole
    from truerank.plain_data import plain

    if path is None:
        return
    with written_whole(ready(path)) as temporary:
        temporary.write_text(json.dumps(plain(report), indent=2) + "\n", encoding="utf-8")
    remark(f"report: {path}")
