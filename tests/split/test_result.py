"""What a split says of itself, also by its old name."""

from __future__ import annotations

from dataclasses import replace

import pytest

import truerank as tr

DATA = tr.Interactions.from_arrays([1, 1, 2, 2], [5, 6, 5, 6])
SPLIT = tr.split.leave_one_out(DATA, seed=3)


def test_a_split_describes_how_it_was_made() -> None:
    assert SPLIT.description["name"] == "leave_one_out"
    assert SPLIT.description["seed"] == 3
    assert repr(SPLIT).startswith("Split(leave_one_out: 2 in training")


def test_the_old_name_of_the_description_warns() -> None:
    with pytest.warns(DeprecationWarning, match="'rule' of Split is called 'description' now"):
        assert SPLIT.rule == SPLIT.description  # type: ignore[attr-defined]
    parts = {"train": SPLIT.train, "held_out": SPLIT.held_out, "report": SPLIT.report}
    with pytest.warns(DeprecationWarning, match="'rule' of Split is called 'description' now"):
        made = tr.split.Split(**parts, rule=SPLIT.description)  # type: ignore[call-arg,arg-type]
    assert made.fingerprint() == SPLIT.fingerprint()
    assert replace(made, description={"name": "other"}).description == {"name": "other"}
