"""One grammar for designs, splits and models: what is written is read back, mistakes are told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.cli.model_spec import ModelSpec, parse_model
from truerank.cli.split_spec import SPLITS, SplitSpec, parse_split
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.models.names import MODELS, model_class, parameters_of
from truerank.ranking.design_spec import format_design, parse_design
from truerank.ranking.designs import Adaptive, Full, Sampled, Screened, Users
from truerank.spec import MOMENT, NUMBER, TEXT, WHOLE, Setting, parse, settings_of

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.from_regex(r"[a-z_]{1,8}( [a-z]{1,4})?", fullmatch=True)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    WHOLE.read: st.integers(-(10**12), 10**12),
    NUMBER.read: NUMBERS,
    TEXT.read: WORDS,
    MOMENT.read: st.integers(10**4, 10**10) | st.datetimes(),
}


def settings_for(known: dict[str, Setting]) -> st.SearchStrategy[dict[str, Any]]:
    """Values for all that must be said and some that may be."""
    needed = {key: VALUES[one.read] for key, one in known.items() if one.example is not None}
    others = {key: VALUES[one.read] for key, one in known.items() if one.example is None}
    return st.fixed_dictionaries(needed, optional=others)


@given(st.sampled_from(list(SPLITS)).flatmap(
    lambda kind: settings_for(SPLITS[kind]).map(lambda said: SplitSpec(kind, said))
))  # fmt: skip
def test_splits_are_read_as_they_are_written(spec: SplitSpec) -> None:
    assert parse_split(str(spec)) == spec


def inner_designs() -> st.SearchStrategy[Full | Sampled | Adaptive | Screened]:
    sampled = st.builds(Sampled, n=st.integers(2, 10**6), replacement=st.booleans())
    growth = st.floats(1.1, 10)
    grown = st.builds(Adaptive, n0=st.none() | st.integers(2, 99), growth=growth)
    capped = st.builds(
        Adaptive, n0=st.integers(2, 99), n_max=st.integers(100, 10**6), growth=growth,
        replacement=st.booleans(),
    )  # fmt: skip
    users = st.none() | st.integers(1, 10**6)
    together = st.builds(Sampled, n=st.none() | st.integers(2, 10**6), shared=users)
    chance = st.none() | st.floats(1e-12, 0.999)
    price = st.floats(1e-3, 1e12)
    certified = st.builds(Screened, k=st.integers(1, 10**6), miss=chance, shared=users)
    budgeted = st.builds(Screened, k=st.integers(1, 10**6), budget=price, shared=users)
    timed = st.builds(Screened, k=st.integers(1, 10**6), seconds=price)
    screened = certified | budgeted | timed
    return st.just(Full()) | sampled | grown | capped | together | screened


@given(inner_designs() | st.builds(Users, st.integers(1, 10**6), inner_designs()))
def test_designs_are_read_as_they_are_written(design: Any) -> None:
    assert parse_design(format_design(design)) == design


@pytest.mark.parametrize(
    ("words", "design"),
    [
        ("screened", Screened()),
        ("screened k=10 miss=0.01", Screened(k=10, miss=0.01)),
        ("screened budget=5000", Screened(budget=5000)),
        ("screened k=5 seconds=0.5 shared=64", Screened(k=5, seconds=0.5, shared=64)),
        ("sampled n=500 shared=256", Sampled(500, shared=256)),
        ("sampled shared=1", Sampled(shared=1)),
        ("users m=50 screened k=10", Users(50, Screened(k=10))),
        ("users m=50 sampled n=9 shared=4", Users(50, Sampled(9, shared=4))),
    ],
)
def test_designs_of_shared_rivals_in_words(words: str, design: Any) -> None:
    assert parse_design(words) == design
    assert format_design(design) == words
    assert parse_design(words.replace(" ", ",")) == design


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("screened k=0", "k must be a whole number, at least 1"),
        ("screened miss=2", "miss must be between 0 and 1"),
        ("screened miss=0.1 budget=9", "budget must be left out where miss is given"),
        ("screened n=9", "screened with"),
        ("sampled n=9 shared=3 replacement", "replacement must be False where rivals are shared"),
    ],
)
def test_screens_that_make_no_sense_in_words(words: str, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        parse_design(words)


@pytest.mark.parametrize("kind", MODELS)
@given(data=st.data())
def test_models_are_read_as_they_are_written(kind: str, data: st.DataObject) -> None:
    usual = parameters_of(model_class(kind))
    by_type = {bool: st.booleans(), int: st.integers(0, 10**9), float: NUMBERS, str: WORDS}
    values = {
        key: by_type[next(t for t in by_type if isinstance(value, t))]
        for key, value in usual.items()
        if value is not None
    }
    settings = data.draw(st.fixed_dictionaries({}, optional=values))
    if "loss_params" in usual and data.draw(st.booleans()):
        settings["loss_params"] = {"temperature": data.draw(NUMBERS)}
    spec = ModelSpec(kind, settings)
    assert parse_model(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("lrr l2=[10,30.5], dim=2", {"l2": [10.0, 30.5], "dim": 2}),
        ("slim nonnegative k=none", {"nonnegative": True, "k": None}),
        ("slim  nonnegative=FALSE,k=3", {"nonnegative": False, "k": 3}),
        ("ease l2=1 l2=2e2", {"l2": 200.0}),
    ],
)
def test_blanks_commas_flags_lists_and_none(text: str, settings: dict[str, Any]) -> None:
    assert parse_model(text).settings == settings


def test_one_grammar_everywhere() -> None:
    assert parse_design("sampled, n=100, replacement=true") == Sampled(100, replacement=True)
    assert parse_design("users,m=5,adaptive") == Users(5, Adaptive())
    assert parse_split("temporal at=2000-12-31").settings == {"at": datetime(2000, 12, 31)}
    assert parse_split("temporal at=970000000").settings == {"at": 970_000_000}


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (
            parse_design,
            "sampeld n=1",
            (
                "design must be one of full, sampled, adaptive, screened, reference, users, got "
                "'sampeld n=1'; did you mean 'sampled'?"
            ),
        ),
        (
            parse_design,
            "",
            (
                "design must be one of full, sampled, adaptive, screened, reference, users, got "
                "''; for instance 'sampled n=100 replacement'"
            ),
        ),
        (
            parse_design,
            "sampled n",
            (
                "design must be sampled with n=..., replacement, shared=..., got 'sampled n'; "
                "write n=..."
            ),
        ),
        (
            parse_design,
            "full n=3",
            "design must be full with nothing else, got 'full n=3'",
        ),
        (
            parse_design,
            "users m=3 users m=4",
            (
                "design must be written with users once, got 'users m=3 users m=4'; for instance "
                "'users m=5000 adaptive'"
            ),
        ),
        (
            parse_design,
            "users m=3 adaptiv",
            (
                "design must be one of full, sampled, adaptive, screened, reference, users, got "
                "'adaptiv'; did you mean 'adaptive'?"
            ),
        ),
        (
            parse_design,
            "users full",
            "design must be users with m=..., got 'users'; for instance 'users m=5000'",
        ),
        (
            parse_split,
            "leave-k-out",
            (
                "split must be leave-k-out with k=..., got 'leave-k-out'; for instance 'leave-k-"
                "out k=2'"
            ),
        ),
        (
            parse_split,
            "ratio fracton=0.1",
            (
                "split must be ratio with fraction=..., seed=..., by=..., short_users=..., "
                "cold_items=..., got 'ratio fracton=0.1'; did you mean 'fraction'?"
            ),
        ),
        (
            parse_split,
            "temporal at=soon",
            (
                "split must be written with a time or a date such as 2000-12-31 after at=, got "
                "'temporal at=soon'"
            ),
        ),
        (
            parse_model,
            "ease l2=much",
            "model must be written with a number after l2=, got 'ease l2=much'",
        ),
        (
            parse_model,
            "lrr l2=[1,x]",
            (
                "model must be written with a number or numbers in brackets or none after l2=, "
                "got 'lrr l2=[1,x]'"
            ),
        ),
    ],
)
def test_mistakes_have_one_sentence(read: Any, text: str, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read(text)
    assert str(caught.value) == sentence


def test_old_names_are_taken_with_a_warning() -> None:
    @renamed_parameters(reg="l2")
    @dataclass
    class Model:
        l2: float = 1.0

    known = settings_of(Model)
    with pytest.warns(DeprecationWarning, match="the setting 'reg' of model is called 'l2' now"):
        assert parse("model reg=3", "model", ["model"], lambda _: known).settings == {"l2": 3.0}
    with pytest.raises(InvalidArgumentError, match=r"model with l2=\.\.\., got 'model rag=3'$"):
        parse("model rag=3", "model", ["model"], lambda _: known)
