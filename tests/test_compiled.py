"""The process that compiles the kernels and those that find them compiled get the same bits.

They did not once: callers met copies of a kernel that had been optimised on their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import hashlib, numpy as np, truerank as tr
data = tr.load_dataset("demo", n_users=300, n_items=400)
train = tr.split.ratio(data, 0.2).train

def tell(what, numbers):
    print(what, hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest())
"""

WORK = {
    "MF": """
for loss in ("bpr", "bce", "infonce", "mine", "ccl", "mse_debiased", "infonce_debiased"):
    model = tr.models.MF(loss, n_negatives=200, similarity="cosine", epochs=2, dim=64)
    tell(loss, model.fit(data).user_factors)
for kind in ((16, "dense-adam"), ("pair", "adagrad"), ("pair", "sgd")):
    how = dict(negatives_per=kind[0], optimiser=kind[1])
    model = tr.models.MF("mine", l2=0.01, epochs=1, dim=24, **how)
    tell(kind, model.fit(data).user_factors)
""",
    "models": """
for name in ("ItemKNN", "UserKNN", "EASE", "EDLAE", "SLIM", "LearnedLinear", "DebiasedEASE"):
    model = getattr(tr.models, name)()
    tell(name, model.fit(train).score_all(np.arange(300)))
for name in ("IALS", "WMF", "SVDpp", "DebiasedIALS"):
    model = getattr(tr.models, name)(epochs=2, dim=24)
    tell(name, model.fit(train).score_all(np.arange(300)))
""",
    "ranks": """
split = tr.split.ratio(data, 0.2)
for model in (tr.models.IALS(epochs=2).fit(train), tr.models.EASE().fit(train)):
    for design in (tr.Full(), tr.Sampled(50), tr.Adaptive()):
        tell(design, tr.rank(model, split, design).rank)
table = tr.rank(model, split, tr.Sampled(50))
tell("ndcg", [estimate.value for estimate in tr.estimate(table, "ndcg@10")])
""",
}


def run(script: str, cache: Path) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("work", WORK)
def test_compiling_changes_no_bit(work: str, tmp_path: Path) -> None:
    first = run(BEGIN + WORK[work], tmp_path)
    assert len(first.splitlines()) > 6
    assert list(tmp_path.rglob("*.nbi"))  # the second process does find something
    assert run(BEGIN + WORK[work], tmp_path) == first
