"""load(save(x)) and fit(checkpoint=...) with every array damaged in turn: our error, always."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from truerank.models.model_arrays import ARRAYS
from truerank.models.names import MODELS

from .damaged_files import CHECKPOINTS, VARIANTS

UNSEEN = (
    r".*: another number",
    # Other ids, in order; more interactions; a history of fitting that nobody computes with.
    r"(user|item)_ids: (bytes|(too large|very large) last|(very )?negative first)",
    r"item_counts: (too|very) large (first|last)",
    r"validations: (nan|infinite) (first|last)",
    r"(losses|values|objectives): (nothing|truncated|flat|doubled)",
    r"(losses|validations|objective|gap): shape \[3\]",  # which it has
)
"""What no reader can tell from a whole file without digests; it is used, and nothing breaks."""

WITHOUT_EFFECT = (
    r"whole|extra member|file: doubled",
    r"file: bit \d+ flipped",  # of what a zip says twice, or of its dates
    r"header\.(data|version): 'x'",  # a word that only people read, or that is compared elsewhere
    r"header\.made_by: {'x': 1}",
    r"header\.adapted: dropped",  # as by earlier versions
    r"parameter (base|learning_rate): (\[1\]|{'x': 1})",  # of fitting; not used again
)
"""What is used to the very same bits."""


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, str]]:
    """What became of each damage, tried in a process that may crash without taking us along."""
    script = Path(__file__).with_name("damaged_files.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=900, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    outcomes = {line["variant"]: line["found"] for line in lines}
    missing = [name for name in (*VARIANTS, *CHECKPOINTS) if name not in outcomes]
    assert not missing, f"exit code {done.returncode} at {missing[0]}: {done.stderr[-2000:]}"
    assert done.returncode == 0
    return outcomes


@pytest.mark.parametrize("variant", [*VARIANTS, *CHECKPOINTS])
def test_every_array_damaged_in_turn_is_refused_or_harmless(
    variant: str, found: dict[str, dict[str, str]]
) -> None:
    outcomes = found[variant]
    whole = outcomes["whole"]
    assert whole.startswith("used ")
    strange = {
        what: outcome
        for what, outcome in outcomes.items()
        if outcome != "refused"
        and not (outcome == whole and _is_one_of(WITHOUT_EFFECT, what))
        and not (outcome.startswith("used ") and _is_one_of(UNSEEN, what))
    }
    assert not strange
    assert sum(outcome == "refused" for outcome in outcomes.values()) > 150


def _is_one_of(patterns: tuple[str, ...], what: str) -> bool:
    return any(re.fullmatch(pattern, what) for pattern in patterns)


def test_every_model_and_every_array_of_the_table_is_tried(
    found: dict[str, dict[str, str]],
) -> None:
    assert set(MODELS) <= set(found)
    tried = {re.split(r"[.:]", what)[0] for outcomes in found.values() for what in outcomes}
    assert set(ARRAYS) <= tried


def test_a_number_changed_is_refused_by_its_digest(found: dict[str, dict[str, str]]) -> None:
    changed = [
        outcome
        for outcomes in found.values()
        for what, outcome in outcomes.items()
        if what.endswith("digests")
    ]
    assert len(changed) > 50
    assert set(changed) == {"refused"}
