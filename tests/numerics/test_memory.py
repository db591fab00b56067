from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidDataError
from truerank.models.linear import debiased_ease
from truerank.numerics import memory
from truerank.numerics.memory import check_room, free_bytes


def system(root: Path, *, available_kb: int, limit: str, used: int, cached: int) -> Path:
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available_kb} kB\n")
    group = root / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text(f"{limit}\n")
    (group / "memory.current").write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")
    return root


def test_the_machine_and_its_container_both_count(tmp_path: Path) -> None:
    root = system(tmp_path, available_kb=1000, limit="500000", used=300000, cached=100000)
    assert free_bytes(root) == 300000  # 500,000 - 300,000 + 100,000 < 1,024,000


def test_a_container_without_limit(tmp_path: Path) -> None:
    root = system(tmp_path, available_kb=1000, limit="max", used=1, cached=0)
    assert free_bytes(root) == 1024000


def test_a_system_that_does_not_say_is_believed(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) is None


def test_what_does_not_fit_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 8 * 10**9)
    check_room(8 * 10**9, "EASE", "less")
    with pytest.raises(
        InvalidDataError, match=r"^EASE needs 9\.0 GB of memory and 8\.0 GB are free; take less$"
    ):
        check_room(9 * 10**9, "EASE", "take less")


@pytest.mark.parametrize(
    ("model", "fits"),
    [
        (tr.models.EASE(), "IALS and PureSVD"),
        (tr.models.DLAE(), "IALS and PureSVD"),
        (tr.models.EDLAE(), "IALS and PureSVD"),
        (tr.models.EDLAE(dim=2), "IALS and PureSVD"),
        (tr.models.LRR(), "would need less"),
        (tr.models.LRR(dim=2), "would need less"),
        (tr.models.PureSVD(2), "would need less"),
    ],
)
def test_every_dense_model_asks_first(
    model: object, fits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 10)
    data = tr.Interactions.from_arrays([0, 0, 1, 1, 2], [0, 1, 1, 2, 0])
    with pytest.raises(InvalidDataError, match=fits):
        model.fit(data)  # type: ignore[attr-defined]


def test_debiased_ease_asks_for_all_it_will_need(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 2], item_ids=np.arange(2000))
    free = 2 * 2000 * 2000 * 4
    monkeypatch.setattr(memory, "free_bytes", lambda: free)
    monkeypatch.setattr(debiased_ease, "inverse_gram", lambda *_: pytest.fail("asked too late"))
    with pytest.raises(
        InvalidDataError,
        match=r"n_hidden_positives on 2,000 items needs 0\.0 GB.*n_hidden_positives=0",
    ):
        tr.models.DebiasedEASE(n_hidden_positives=1.0).fit(data)
