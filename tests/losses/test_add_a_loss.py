"""docs/contributing/add-a-loss.md does what it says: one file and one line are a loss."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.losses.gradients import has_fused_gradient
from truerank.losses.loss import FusedLoss, definition_of
from truerank.losses.parameters import NEUTRAL
from truerank.losses.table import DEFINITIONS

from .test_every_loss import check_declaration, check_gradient, check_value, parameters_to_try

PAGE = Path(__file__).parents[2] / "docs" / "contributing" / "add-a-loss.md"
FILE, USE, FORMULA = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
(LINE,) = re.findall(r'^    ("hinge": "\w+",)$', PAGE.read_text("utf-8"), re.M)


@pytest.fixture(scope="module")
def hinge(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The loss of the page, imported from a file."""
    file = tmp_path_factory.mktemp("page") / "hinge.py"
    file.write_text(FILE, encoding="utf-8")
    spec = spec_from_file_location("hinge", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.hinge


def test_the_loss_of_the_page_keeps_what_every_loss_promises(hinge: Any) -> None:
    loss = definition_of(hinge)
    formula: dict[str, Any] = {}
    exec(FORMULA, formula)
    check_declaration(loss)
    for parameters in parameters_to_try(loss):
        check_value(loss, formula["hinge"], parameters)
        values = NEUTRAL | loss.parameters | parameters
        fused = FusedLoss(0, *(np.float32(values[name]) for name in NEUTRAL))
        check_gradient(loss, fused, loss.gradient, parameters)


def test_added_at_runtime_autograd_trains_it(hinge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEFINITIONS, "hinge", definition_of(hinge))
    assert not has_fused_gradient("hinge")
    exec(USE, {"hinge": hinge})
    with pytest.raises(tr.TruerankError, match="margin must be in"):
        tr.models.MF("hinge", loss_params={"margin": 2.0})


def test_with_its_file_and_its_line_it_trains_without_torch(tmp_path: Path) -> None:
    """In a copy of the source, with an empty cache of compiled code."""
    source = Path(tr.__file__).parent
    shutil.copytree(source, tmp_path / "truerank", ignore=shutil.ignore_patterns("__pycache__"))
    losses = tmp_path / "truerank" / "losses"
    (losses / "hinge.py").write_text(FILE, encoding="utf-8")
    table = (losses / "table.py").read_text("utf-8")
    start = '    "bpr": "bpr",\n'
    assert start in table
    added = table.replace(start, f"{start}    {LINE}\n")
    (losses / "table.py").write_text(added, encoding="utf-8")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import truerank as tr\n"
        "data = tr.load_dataset('demo', n_users=100, n_items=80)\n"
        "for loss in ('hinge', 'bpr'):\n"
        "    losses = tr.models.MF(loss, epochs=4, dim=8).fit(data).losses\n"
        "    assert losses[-1] < losses[0]\n"
        "print(tr.__file__)"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
