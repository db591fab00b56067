"""Options that the measurements share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str] | None,
    typer.Option("--data", help="Data set; may be repeated. Default: those that are found here."),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="popularity, item-knn, ease, als or bpr, with a size if wanted: als-45. May be "
        "repeated. Default: all that fit.",
    ),
]
Designs = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        help="Such as 'adaptive', 'reference', 'sampled n=100 replacement'. May be repeated.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="Method of tr.estimate, or 'dissertation' for its seven. May be repeated.",
    ),
]
Repeats = Annotated[int, typer.Option(min=1, help="Simulated tables per design.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the first repeat.")]
Candidates = Annotated[
    str, typer.Option(help="Rank among 'all' items, or those 'unseen' in training.")
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder that keeps exact ranks. Default: the system's caches.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
