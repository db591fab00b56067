"""Speed of fitting, as ratios against peers and the machine's own limit, in one run.

    make bench-fit            (or one part: python benchmarks/fit_ease.py)

Each part compares in its own run; the machine's noise hits both sides of a ratio.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

PARTS = ("fit_ease", "fit_slim", "fit_ials", "fit_knn", "fit_search")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only these; repeatable")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    found = []
    for part in options.part or PARTS:
        found += importlib.import_module(part).rows()
    if not options.part:
        found += importlib.import_module("fit_ease").large_rows()  # the longest last
    print(f"\n{'what':84} {'wanted':>10} {'got':>10}")
    for what, want, got in found:
        print(f"{what:84} {want:>10} {got:10.2f}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "fit.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
