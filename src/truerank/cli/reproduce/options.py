"""Options that the measurements share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="NAME",
        help="Data set; may be repeated. Default: all that are found on this machine.",
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="popularity, item-knn, ease, als or bpr, optionally with a size: als-45. May be "
        "repeated. Default: all that fit into memory.",
    ),
]
Designs = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        metavar="SPEC",
        help="Such as 'adaptive', 'reference', 'sampled n=100 replacement'. May be repeated.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="A method of truerank estimate, or 'dissertation' for its seven. May be repeated.",
    ),
]
Repeats = Annotated[int, typer.Option(min=1, metavar="INT", help="Simulated tables per design.")]
Seed = Annotated[int, typer.Option(min=0, metavar="INT", help="Random seed of the first repeat.")]
Candidates = Annotated[
    str, typer.Option(metavar="RULE", help="Rank among 'all' items, or those 'unseen' in training.")
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder for exact ranks. Default: the system's cache folder."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
