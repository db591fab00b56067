"""``truerank estimate`` takes counts of ranks as it takes tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.cli import main


def test_counts_give_what_their_table_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    table = tr.RankTable.from_arrays(rng.integers(1, 101, 500), 100, 2000)
    table.to_parquet(tmp_path / "table.parquet")
    table.counts().to_parquet(tmp_path / "counts.parquet")
    answers = []
    for name in ("table", "counts"):
        with pytest.raises(SystemExit) as end:
            main(["estimate", str(tmp_path / f"{name}.parquet"), "--n-boot", "50", "--json"])
        assert end.value.code in (0, None)
        answers.append(json.loads(capsys.readouterr().out)[0])
    assert answers[0]["n_rows"] == answers[1]["n_rows"] == 500
    assert answers[0]["estimates"] == answers[1]["estimates"]
