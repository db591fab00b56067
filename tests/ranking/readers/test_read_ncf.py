"""Published negatives with scores: by hand, as FixedNegatives has it, and every sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truerank.errors import DataWarning, FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.numerics.ties import TIE_RULES
from truerank.ranking import FactorScorer, FixedNegatives, rank_pairs
from truerank.ranking.readers import read_ncf_negatives

RNG = np.random.default_rng(4)
USERS, ITEMS = np.arange(30) // 2, RNG.integers(0, 200, 30)  # two lines for each user
OTHERS = ITEMS.reshape(-1, 2)[:, ::-1].reshape(-1)  # the other target of each line's user
NEGATIVES = np.array(
    [
        RNG.choice(np.setdiff1d(np.arange(200), [item, other]), 15, replace=False)
        for item, other in zip(ITEMS, OTHERS, strict=True)
    ]
)
NEGATIVES[::6, 2] = ITEMS[::6]  # the target itself among them, as in NCF's files
NEGATIVES[:, 4] = OTHERS
X, Y = RNG.integers(-2, 3, (30, 3)).astype(float), RNG.integers(-2, 3, (200, 3)).astype(float)
COLUMNS = np.column_stack([ITEMS, NEGATIVES])
SCORES = np.einsum("ud,und->un", X[USERS], Y[COLUMNS])


def write(path: Path) -> Path:
    lines = [
        "\t".join([f"({user},{item})", *map(str, row)])
        for user, item, row in zip(USERS, ITEMS, NEGATIVES, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


TARGETS = pytest.mark.filterwarnings("ignore:5 of 30 lines have their target among the negatives")


@TARGETS
@pytest.mark.parametrize("ties", TIE_RULES)
def test_scores_scorer_file_and_arrays_agree_with_the_given_design(
    ties: Any, tmp_path: Path
) -> None:
    scorer = FactorScorer(X, Y)
    expected = rank_pairs(
        scorer, USERS, ITEMS, FixedNegatives(NEGATIVES), ties=ties, seed=6, progress=False
    )
    path = write(tmp_path / "test.negative")
    for negatives in (path, (USERS, ITEMS, NEGATIVES)):
        for given in (SCORES, scorer):
            table = read_ncf_negatives(negatives, given, n_items=200, ties=ties, seed=6)
            assert np.array_equal(table.rank, expected.rank)
            assert table.n_sampled.tolist() == [16] * 30
            assert table.n_items.tolist() == [200] * 30
            assert np.array_equal(table.user, USERS)
            assert np.array_equal(table.item, ITEMS)
            assert (table.header.ties, table.header.candidates) == (ties, "given")
            assert table.header.seed == (6 if ties == "random" else None)


@TARGETS
def test_origin_and_candidates_of_each_line() -> None:
    unseen = np.arange(150, 180)
    by_scores = read_ncf_negatives((USERS, ITEMS, NEGATIVES), SCORES, n_items=unseen, model="GMF")
    assert np.array_equal(by_scores.n_items, unseen)
    assert by_scores.header.design.describe() == {"kind": "foreign", "source": "ncf-negatives"}
    assert by_scores.header.model == "GMF"
    by_scorer = read_ncf_negatives(
        (USERS, ITEMS, NEGATIVES), FactorScorer(X, Y), n_items=unseen, replacement=True
    )
    assert np.array_equal(by_scorer.n_items, unseen)
    assert by_scorer.header.design.kind == "given"
    assert by_scorer.header.replacement


@TARGETS
@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        pytest.param({}, {"n_items": None}, "n_items must be given: scores of a few items",
                     id="no-n-items"),
        pytest.param({"scores": SCORES[:, 1:]}, {}, r"scores must be of shape \(30, 16\), got "
                     r"'shape \(30, 15\)'; a row per line: the target's score first", id="no-target"
                     ),
        pytest.param({"scores": np.where(np.eye(30, 16), np.nan, SCORES)}, {}, "16 of 30 rows of "
                     "scores hold NaN, the first is row 0 .user 0.", id="nan"),
        pytest.param({"scores": SCORES.astype(str)}, {}, "real numbers", id="words"),
        pytest.param({"negatives": (USERS, ITEMS)}, {}, "a path, or users, items and negatives",
                     id="two-arrays"),
        pytest.param({"negatives": (USERS, ITEMS[:3], NEGATIVES)}, {}, "a row for each",
                     id="short-items"),
        pytest.param({"negatives": (USERS, ITEMS, NEGATIVES[:, 0])}, {}, "a row for each",
                     id="one-column"),
        pytest.param({}, {"n_items": 9}, "n_sampled 16 is larger than n_items 9", id="small-n"),
        pytest.param({}, {"ties": "best"}, "ties must be one of", id="unknown-ties"),
    ],
)  # fmt: skip
def test_sentences(change: dict[str, Any], options: dict[str, Any], sentence: str) -> None:
    given = {"negatives": (USERS, ITEMS, NEGATIVES), "scores": SCORES} | change
    with pytest.raises((InvalidArgumentError, InvalidDataError), match=sentence):
        read_ncf_negatives(**given, **{"n_items": 200, **options})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("(0,1)\n", "has 2 numbers in its first line", id="no-negatives"),
        pytest.param("(0,1)\t2\t3\n(1,1)\t2\n", "damaged or not a NCF negatives file", id="ragged"),
        pytest.param("(0,1)\t2\tx\n", "damaged or not a NCF negatives file", id="words"),
    ],
)
def test_sentences_about_files(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "negatives"
    path.write_text(text)
    with pytest.raises((FileFormatError, InvalidDataError), match=sentence):
        read_ncf_negatives(path, SCORES, n_items=200)


# ---------------------------------------------------------------- lines that are no sample


def lines(text: str, path: Path) -> Path:
    path.write_text(text)
    return path


def test_a_target_among_its_negatives_is_read_with_a_warning(tmp_path: Path) -> None:
    """The published files have them, so they cannot be refused; nobody is to overlook them."""
    path = lines("(4,1)\t2\t3\n(5,7)\t3\t7\n(6,8)\t8\t1\n", tmp_path / "negatives")
    scores = [[0.5, 0.9, 0.1], [0.5, 0.1, 0.5], [0.5, 0.5, 0.1]]
    said = r"2 of 3 lines have their target among the negatives, the first is line 2 \(user 5, it"
    for ties, ranks in (("pessimistic", [2, 2, 2]), ("random", [2, 1, 1])):
        with pytest.warns(DataWarning, match=said) as caught:
            table = read_ncf_negatives(path, scores, n_items=200, ties=ties)  # type: ignore[arg-type]
        assert table.rank.tolist() == ranks
        assert caught[0].filename == __file__


@pytest.mark.parametrize("source", ["file", "arrays"])
def test_a_negative_that_is_there_twice_is_refused(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truerank.ranking.readers.ncf.LINES_AT_A_TIME", 2)
    given: Any = ([4, 5, 6], [1, 7, 8], [[2, 3, 4], [3, 9, 2], [6, 5, 6]])
    if source == "file":
        text = "(4,1)\t2\t3\t4\n(5,7)\t3\t9\t2\n(6,8)\t6\t5\t6\n"
        given = lines(text, tmp_path / "negatives")
    scores = np.arange(12).reshape(3, 4)
    with pytest.raises(
        InvalidDataError,
        match=r"^line 3 \(user 6, item 8\) has the negative 6 twice.*say replacement=True",
    ):
        read_ncf_negatives(given, scores, n_items=200)
    table = read_ncf_negatives(given, scores, n_items=200, replacement=True)
    assert table.header.replacement
    assert table.rank.tolist() == [4, 4, 4]
