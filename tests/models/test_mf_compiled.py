"""The process that compiles the kernels and those that find them compiled get the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TRAIN = """
import hashlib, truerank as tr
data = tr.load_dataset("demo", n_users=300, n_items=400)
for loss in ("bpr", "bce", "infonce", "mine", "ccl", "mse_debiased", "infonce_debiased"):
    model = tr.models.MF(loss, n_negatives=200, similarity="cosine", epochs=2, dim=64)
    print(loss, hashlib.sha256(model.fit(data).user_factors.tobytes()).hexdigest())
"""


def train(cache: Path) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_compiling_changes_no_bit(tmp_path: Path) -> None:
    """Kernels are inlined; else callers meet copies of them that were optimised on their own."""
    first = train(tmp_path)
    assert len(first.splitlines()) == 7
    assert list(tmp_path.rglob("*.nbi"))  # the second process does find something
    assert train(tmp_path) == first
