"""TREC runs: values per query against trec_eval's own code, and every sentence."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.ranking.readers import read_trec
from truerank.ranking.readers.spaced import BLANKS, NCF, Spaced


def make_run(folder: Path, *, ids: str = "d{}", separator: str = " ") -> tuple[Path, Path]:
    """Twenty queries with lists of 40 out of 200; up to six relevant, found or not."""
    rng = np.random.default_rng(8)
    run, qrels = [], []
    for query in range(20):
        documents = rng.permutation(200)
        scores = -np.sort(-rng.normal(size=40)) * 3.0
        for k in rng.permutation(40):  # the file's ranks and order say nothing
            fields = (query, "Q0", ids.format(documents[k]), 1, f"{scores[k]:.9f}", "bm25")
            run.append(separator.join(map(str, fields)))
        relevant = rng.choice(documents[:120], rng.integers(1, 7), replace=False)
        qrels += [f"{query} 0 {ids.format(d)} {1 + d % 2}" for d in relevant]
        qrels.append(f"{query} 0 {ids.format(documents[150])} 0")
    paths = folder / "run.txt", folder / "qrels.txt"
    paths[0].write_text("\n".join(run) + "\n")
    paths[1].write_text("\n".join(qrels) + "\n")
    return paths


@pytest.mark.parametrize("ids", ["d{}", "{}"], ids=["names", "numbers"])
@pytest.mark.parametrize("separator", [" ", "\t", "   "], ids=["space", "tab", "spaces"])
def test_values_of_trec_eval(ids: str, separator: str, tmp_path: Path) -> None:
    run, qrels = make_run(tmp_path, ids=ids, separator=separator)
    table = read_trec(run, qrels, n_items=200)
    theirs: dict[str, dict[str, float]] = {}
    measures = {"recall@20": "R@20", "precision@10": "P@10", "ap@40": "AP@40", "hit@5": "Success@5"}
    judged = [
        ir_measures.Qrel(q.query_id, q.doc_id, min(q.relevance, 1))
        for q in ir_measures.read_trec_qrels(str(qrels))
    ]
    scored = list(ir_measures.read_trec_run(str(run)))
    parsed = [ir_measures.parse_measure(name) for name in measures.values()]
    for value in ir_measures.iter_calc(parsed, judged, scored):
        theirs.setdefault(str(value.measure), {})[value.query_id] = value.value
    for ours, name in measures.items():
        users, values = table.per_user(ours)
        expected = [theirs[name][str(user)] for user in users.tolist()]
        assert values.tolist() == pytest.approx(expected, abs=1e-9), ours
    assert table.is_exact.all()
    header = table.header
    assert (header.model, header.ties, header.seed) == ("bm25", "random", 0)
    design = header.design.describe()
    assert (design["source"], design["lists"], design["depth"]) == ("trec", "top", 40)
    assert design["n_missing"] == int((table.rank > 40).sum()) > 0


def test_numbers_in_one_file_and_names_in_the_other(tmp_path: Path) -> None:
    run, qrels = make_run(tmp_path, ids="{}")
    before = read_trec(run, qrels, n_items=200)
    run.write_text(run.read_text() + "0 Q0 x1 1 -99 bm25\n")
    after = read_trec(run, qrels, n_items=200)
    assert after.rank.tolist() == before.rank.tolist()
    assert after.item.tolist() == [str(item) for item in before.item.tolist()]


def test_depth_cuts_the_lists(tmp_path: Path) -> None:
    run, qrels = make_run(tmp_path)
    whole = read_trec(run, qrels, n_items=200)
    cut = read_trec(run, qrels, n_items=200, depth=10)
    assert np.array_equal(np.minimum(cut.rank, 11), np.minimum(whole.rank, 11))
    for query in np.unique(cut.user):
        last = np.sort(cut.rank[(cut.user == query) & (cut.rank > 10)])
        assert last.tolist() == list(range(201 - len(last), 201))
    assert cut.header.design.details["depth"] == 10
    found = read_trec(run, qrels, n_items=200, depth=10, missing="drop")
    assert found.rank.tolist() == whole.rank[whole.rank <= 10].tolist()
    with pytest.raises(InvalidDataError, match="targets are not in their lists"):
        read_trec(run, qrels, n_items=200, missing="refuse")


def test_grades_and_ties_by_hand(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run.gz", tmp_path / "qrels"
    lines = [f"7 Q0 {name} 9 {score} t" for name, score in zip("abcd", (2, 1, 1, 1), strict=True)]
    run.write_bytes(gzip.compress("\n".join(lines).encode()))
    qrels.write_text("7 0 c 2\n7 0 a 1\n8 0 a 1\n")
    half = read_trec(run, qrels, n_items=50, ties="half")
    assert half.rank.tolist() == [3, 1, 50]  # query 8 has no list
    assert read_trec(run, qrels, n_items=50, ties="pessimistic").rank.tolist() == [4, 1, 50]
    assert read_trec(run, qrels, n_items=50, min_relevance=2, ties="half").rank.tolist() == [3]


RUN, QRELS = "1 Q0 d1 1 0.5 t\n1 Q0 d2 2 0.4 t\n", "1 0 d1 1\n"


@pytest.mark.parametrize(
    ("run", "qrels", "sentence"),
    [
        pytest.param(QRELS, RUN, "has the 4 columns of qrels and .* the 6 of a run; swap the two",
                     id="swapped"),
        pytest.param("1 d1 0.5\n", QRELS, r"run.txt has 3 columns, a TREC run has 6: query q0 "
                     r"document rank score tag; .*tr\.read_lists", id="no-run"),
        pytest.param(RUN, "1 d1\n", "qrels.txt has 2 columns, TREC qrels has 4", id="no-qrels"),
        pytest.param("", QRELS, "run.txt is empty", id="empty-run"),
        pytest.param(RUN, " \n", "qrels.txt is empty", id="blank-qrels"),
        pytest.param(RUN + "1 Q0 d3 3 high t\n", QRELS, "run.txt is damaged or not a TREC file",
                     id="score-in-words"),
        pytest.param(RUN + "1 Q0 d3 3\n", QRELS, "run.txt is damaged or not a TREC file",
                     id="cut-line"),
        pytest.param(RUN + "1 Q0 d3 3 nan t\n", QRELS, "1 of 3 scores are NaN", id="nan"),
        pytest.param(RUN + RUN, QRELS, "2 of 4 rows of the lists repeat", id="twice"),
        pytest.param(RUN, "2 0 d1 1\n", "none of the 1 users with targets has a list",
                     id="other-queries"),
        pytest.param(RUN, "1 0 d1 0\n", "no line of .* has a relevance of at least 1",
                     id="nothing-relevant"),
    ],
)  # fmt: skip
def test_sentences(run: str, qrels: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(run)
    (tmp_path / "qrels.txt").write_text(qrels)
    with pytest.raises((FileFormatError, InvalidDataError), match=sentence):
        read_trec(tmp_path / "run.txt", tmp_path / "qrels.txt", n_items=100)


def test_a_depth_below_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="depth must be at least 1"):
        read_trec(*make_run(tmp_path), n_items=200, depth=0)


@pytest.mark.parametrize("block", [1, 3, 7, 1000])
def test_white_space_is_evened_out_however_blocks_fall(block: int) -> None:
    text = b"\t1  Q0\t d7 \r\n\n 22 Q0 d8\t\t4 "
    assert Spaced(io.BytesIO(text), BLANKS, block=block).read() == b"1 Q0 d7\n\n22 Q0 d8 4 "
    pairs: Any = Spaced(io.BytesIO(b"(3,14)\t5\t6\n(4,1)\t7\t8"), NCF, block=block)
    assert pairs.read().split(b"\n") == [b"3 14 5 6", b"4 1 7 8"]
