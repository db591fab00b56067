"""``truerank doctor``: what is installed, what runs how, and what to do about it."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from truerank.cli import options
from truerank.cli.output import print_json, print_table, print_text

EXAMPLES = ("truerank doctor", "truerank doctor --json > doctor.json")

PARTS = ("numpy", "scipy", "numba", "pyarrow", "typer", "rich", "matplotlib")
EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "torch": (("torch",), "losses and neural models"),
    "tune": (("optuna",), "search for parameters"),
    "frames": (("narwhals", "pandas", "polars"), "pandas and polars frames"),
    "bench": (("implicit", "irspack"), "models of others to compare with"),
}


def doctor(as_json: options.AsJson = False) -> None:
    """Print versions, BLAS, threads, numba's cache, extras and data, and report problems."""
    found = examine()
    if as_json:
        print_json(found)
        return
    print_text(f"truerank {found['truerank']}, Python {found['python']}, {found['system']}")
    print_table(
        ("part", "version"),
        [(name, version or "?") for name, version in found["parts"].items()],
        left=2,
    )
    print_text("")
    print_text(f"cores       {found['cores']['usable']} usable of {found['cores']['all']}")
    for pool in found["threads"]:
        print_text(f"threads     {pool['library']} {pool['version'] or ''}: {pool['threads']}")
    cache = found["numba_cache"]
    state = "writable" if cache["writable"] else "NOT WRITABLE"
    print_text(f"numba cache {cache['folder']} ({state})")
    print_text("")
    print_table(
        ("extra", "for", "state"),
        [
            (
                name,
                extra["purpose"],
                ", ".join(extra["installed"])
                if not extra["missing"]
                else f"missing {', '.join(extra['missing'])}; {extra['install']}",
            )
            for name, extra in found["extras"].items()
        ],
        left=3,
    )
    print_text("")
    print_text(f"data folder {found['data']['folder'] or 'none (TRUERANK_DATA is not set)'}")
    print_text(f"data cache  {found['data']['cache']}")
    print_text(f"data found  {', '.join(found['data']['found']) or 'none'}")
    print_text("")
    for problem in found["problems"]:
        print_text(f"problem: {problem}")
    if not found["problems"]:
        print_text("no problems found")


def examine() -> dict[str, Any]:
    """Everything that is worth knowing, as plain values; problems in words."""
    from truerank.execution import available_cores
    from truerank.version import __version__

    problems: list[str] = []
    cores = {"usable": available_cores(), "all": os.cpu_count() or 1}
    return {
        "truerank": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": f"{platform.system()} {platform.machine()}",
        "parts": {name: _version(name) for name in PARTS},
        "cores": cores,
        "threads": _threads(cores["usable"], problems),
        "numba_cache": _numba_cache(problems),
        "extras": _extras(),
        "data": _data(problems),
        "problems": problems,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _threads(cores: int, problems: list[str]) -> list[dict[str, Any]]:
    """BLAS and its kin, loaded first so that they can be asked."""
    import numpy  # noqa: F401, ICN001
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    pools: dict[tuple[str, str | None], int] = {}
    for pool in threadpool_info():
        key = (pool["internal_api"], pool.get("version"))
        pools[key] = max(pools.get(key, 0), int(pool["num_threads"]))
    for (name, _), threads in pools.items():
        if threads > cores:
            problems.append(
                f"{name} runs {threads} threads on {cores} cores, which slows it down; set "
                f"OMP_NUM_THREADS={cores} and OPENBLAS_NUM_THREADS={cores}"
            )
    return [
        {"library": name, "version": version, "threads": threads}
        for (name, version), threads in pools.items()
    ]


def _numba_cache(problems: list[str]) -> dict[str, Any]:
    """Where compiled kernels are kept: a folder that cannot be written costs time at each start."""
    import truerank

    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        folder = Path(named).expanduser()
    else:
        home = Path(truerank.__file__).parent / "ranking"
        folder = home / "__pycache__" if (home / "__pycache__").is_dir() else home
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    if not writable:
        problems.append(
            f"compiled kernels cannot be kept in {folder}, so each run may compile them again; "
            "set NUMBA_CACHE_DIR to a folder you may write to"
        )
    return {"folder": str(folder), "writable": writable, "kernels": _n_kernels(folder)}


def _n_kernels(folder: Path) -> int:
    try:
        return sum(1 for _ in folder.glob("**/*.nbc" if folder.name != "__pycache__" else "*.nbc"))
    except OSError:
        return 0


def _extras() -> dict[str, dict[str, Any]]:
    found = {}
    for name, (packages, purpose) in EXTRAS.items():
        missing = [package for package in packages if find_spec(package) is None]
        found[name] = {
            "purpose": purpose,
            "installed": [f"{p} {_version(p) or ''}".strip() for p in packages if p not in missing],
            "missing": missing,
            "install": f"pip install 'truerank[{name}]'" if missing else None,
        }
    return found


def _data(problems: list[str]) -> dict[str, Any]:
    from truerank.data.registry.load import available
    from truerank.data.registry.locations import cache_folder, user_folder
    from truerank.errors import TruerankError

    try:
        folder = user_folder()
        rows = available()
    except TruerankError as error:
        problems.append(str(error))
        folder, rows = None, []
    cache = cache_folder()
    nearest = next(path for path in (cache, *cache.parents) if path.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        problems.append(
            f"data sets cannot be kept in {cache}; set TRUERANK_CACHE to a folder you may write to"
        )
    here = {row.name: str(row.path) for row in rows if row.where not in ("not here", "built in")}
    return {"folder": folder and str(folder), "cache": str(cache), "found": here}
