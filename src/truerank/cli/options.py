"""Options that several verbs share, what they complete to, and examples for their help."""

from __future__ import annotations

from typing import Annotated

import typer

# ---------------------------------------------------------------- completions


def data_names(incomplete: str) -> list[str]:
    """Names of data sets."""
    from truerank.data.registry.catalogue import DATASETS

    return [name for name in ("demo", *DATASETS) if name.startswith(incomplete)]


def model_names(incomplete: str) -> list[str]:
    """Names of models."""
    from truerank.models.names import MODELS

    return [name for name in MODELS if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """Names of estimation methods."""
    from truerank.estimators.methods.table import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """Metrics at the usual cutoff."""
    from truerank.metrics.definitions import DEFINITIONS

    names = [f"{n}@10" if d.cutoff == "required" else n for n, d in DEFINITIONS.items()]
    return [name for name in names if name.startswith(incomplete)]


def design_kinds(incomplete: str) -> list[str]:
    """First words of designs."""
    kinds = ("full", "screened", "sampled n=100", "adaptive", "reference", "users m=1000")
    return [kind for kind in kinds if kind.startswith(incomplete)]


def split_kinds(incomplete: str) -> list[str]:
    """First words of splits."""
    from truerank.cli.split_spec import SPLITS

    return [kind for kind in SPLITS if kind.startswith(incomplete)]


# ---------------------------------------------------------------- options

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="NAME|FILE",
        autocompletion=data_names,
        show_default=False,
        help="A data set by name (see: truerank data list), or a CSV or Parquet file of "
        "interactions.",
    ),
]
UserColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of user ids. Default: found by its name."),
]
ItemColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of item ids. Default: found by its name."),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of times, or 'none'. Default: found by its name, if any.",
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of weights for the model. Default: every interaction weighs 1."
    ),
]
Duplicates = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="How to treat repeated (user, item) pairs: error, first, last, sum or max. "
        "Default: error, or the data set's own rule.",
    ),
]
RatingColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of ratings or counts that decides which rows are positives; 'none' takes "
        "every row as one. Default: the weights, or found by its name, if any.",
    ),
]
MinRating = Annotated[
    float | None,
    typer.Option(
        metavar="FLOAT",
        show_default=False,
        help="Smallest rating that counts as a positive. Default: any above 0.",
    ),
]
IdKind = Annotated[
    str | None,
    typer.Option(
        "--id-type",
        metavar="TYPE",
        show_default=False,
        help="Read ids as 'text' or as 'int' (which makes 007 and 7 the same id). Default: text "
        "for CSV files, the column's own type for Parquet.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        show_default=False,
        help="Delimiter of a text file, such as ';', '::' or '\\t'. Default: detected.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Encoding of a text file, such as latin-1. Default: detected.",
    ),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV holds the names of its columns.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="SPEC",
        autocompletion=split_kinds,
        show_default=False,
        help="What to hold out: leave-one-out, 'leave-k-out k=2', 'ratio fraction=0.2', temporal, "
        "'strong n_users=1000', published or none; settings such as by=latest or seed=1 may "
        "follow. Default: leave-one-out.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME@K",
        autocompletion=metric_names,
        show_default=False,
        help="A metric such as ndcg@10. May be repeated, or a list with commas. "
        "Default: recall@10, ndcg@10.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=method_names,
        help="Estimator: auto, naive, exact, mapping-linear, mapping-bound, mapping-beta, "
        "rank-unbiased, cls, bv, mle, wmle-ap, wmle-ndcg, mes, bv-mle, bv-mes, mn-mle or "
        "mn-mes.",
    ),
]
Confidence = Annotated[
    float, typer.Option(metavar="FLOAT", help="Confidence level of the intervals: 0.95 for 95 %.")
]
OldLevel = Annotated[float | None, typer.Option("--level", hidden=True, metavar="FLOAT")]
Population = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Which users the metric is about: 'infinite', future users of whom these are a "
        "sample, or 'finite', exactly the users there are.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="INT", help="Random seed.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NItems = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="INT", show_default=False,
        help="For ranks made elsewhere: number of items in the catalogue.",
    ),
]  # fmt: skip
NSampled = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="INT", show_default=False,
        help="For ranks made elsewhere: number of items each target was ranked among, itself "
        "included (100 for 99 negatives).",
    ),
]  # fmt: skip
RankColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of ranks, which start at 1. Default: found by its name."
    ),
]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="Ranks start at 0, not at 1.")]
Replacement = Annotated[
    bool, typer.Option("--replacement", help="The negatives were drawn with replacement.")
]

USUAL_METRICS = ("recall@10", "ndcg@10")


def split_commas(given: list[str] | None, usual: tuple[str, ...] = USUAL_METRICS) -> list[str]:
    """Values that were repeated, or written with commas.

    >>> split_commas(["recall@10,ndcg@10", "mrr"])
    ['recall@10', 'ndcg@10', 'mrr']
    """
    words = [word.strip() for text in given or () for word in text.split(",")]
    return [word for word in words if word] or list(usual)


def examples(*lines: str) -> str:
    """The end of a help text: one example a line."""
    return "\n\n".join(("[bold]Examples[/bold]", *lines))
