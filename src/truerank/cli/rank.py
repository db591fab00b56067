"""``truerank rank``: ranks of held-out items, in a table on disk."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli import options
from truerank.cli.config import Config
from truerank.cli.output import (
    new_file,
    print_json,
    print_table,
    ready,
    remark,
    spare_inputs,
    working,
)
from truerank.errors import InvalidArgumentError

if TYPE_CHECKING:
    from truerank.cli.source import Source
    from truerank.ranking import RankTable
    from truerank.ranking.designs import Design
    from truerank.split import Split

EXAMPLES = (
    "truerank rank --model ml-1m-ease.model --design screened",
    "truerank rank --data ml-1m --model ease --model 'item-knn k=50' --design 'sampled n=100'",
    "truerank rank --model ml-1m-ease.model --design 'screened k=10 miss=0.0001'",
    "truerank rank --model knn.model --design 'users m=1000' --out exact.parquet",
)


def rank(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="FILE|SPEC",
            autocompletion=options.model_names,
            show_default=False,
            help="A model file, or a model to fit first: ease, 'item-knn k=50'. May be repeated.",
        ),
    ] = None,
    data: options.Data = None,
    split: options.Split = None,
    design: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            autocompletion=options.design_kinds,
            help=options.DESIGNS_HELP,
        ),
    ] = "full",
    seed: options.Seed = 0,
    candidates: Annotated[
        str,
        typer.Option(
            metavar="RULE", help="Rank among items 'unseen' by the user in training, or 'all'."
        ),
    ] = "unseen",
    ties: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="How to rank equal scores: random, half, optimistic or pessimistic.",
        ),
    ] = "random",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="INT", show_default=False, help="Number of threads. Default: all cores."
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE|FOLDER",
            help="A file that ends in .parquet for one model, or a folder: FOLDER/MODEL.parquet.",
        ),
    ] = Path("ranks"),
    user_column: options.UserColumn = None,
    item_column: options.ItemColumn = None,
    time_column: options.TimeColumn = None,
    weight_column: options.WeightColumn = None,
    rating_column: options.RatingColumn = None,
    min_rating: options.MinRating = None,
    id_type: options.IdKind = None,
    duplicates: options.Duplicates = None,
    header: options.Header = True,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
    config: Config = None,
) -> None:
    """Rank the held-out items of a split, against the whole catalogue or a sample.

    A model file knows the data and the split it was made with; a model by name is fitted first.
    """
    from truerank.cli.inputs import found
    from truerank.cli.model_spec import check_fits, is_model_file, parse_model, read_model
    from truerank.ranking.design_spec import parse_design
    from truerank.ranking.designs import of_one_user
    from truerank.ranking.request_checks import check_shared

    chosen = parse_design(design)
    rules = _checked_rules(candidates, ties)
    check_shared(of_one_user(chosen), ties)
    if not model:
        raise InvalidArgumentError("--model", None, "a model file or name", "such as --model ease")
    files = [Path(text) for text in model if is_model_file(text)]
    specs = [parse_model(text) for text in model if not is_model_file(text)]
    for file in files:
        found(file)
    names = [*(file.stem for file in files), *(spec.name for spec in specs)]
    targets = _targets(names, out, force, inputs=[*files, data, config])
    with working("reading models"):
        loaded = [(file, *read_model(file)) for file in files]
    typed = {
        "user_column": user_column, "item_column": item_column, "time_column": time_column,
        "weight_column": weight_column, "rating_column": rating_column, "min_rating": min_rating,
        "id_type": id_type, "duplicates": duplicates, "header": None if header else False,
        "delimiter": delimiter, "encoding": encoding,
    }  # fmt: skip
    source = _source([made_by for _, _, made_by in loaded], data, split, typed)
    for path in targets.values():
        spare_inputs(path, [source.data])  # which only the model may have named
    made = source.made_split
    for file, fitted, _ in loaded:
        check_fits(fitted, file, made, source)
    models: list[Any] = [*(fitted for _, fitted, _ in loaded), *specs]
    rows = []
    for (name, path), one in zip(targets.items(), models, strict=True):
        table, seconds = _ranked(one, made, chosen, seed=seed, workers=workers, **rules)
        table = replace(table, header=replace(table.header, model=name))
        table.to_parquet(ready(path), force=force)
        rows.append(_row(name, table, seconds, path))
    _print(rows, source, design, as_json=as_json)


def _ranked(
    model: Any, split: Split, design: Design, *, seed: int, workers: int | None, **rules: Any
) -> tuple[RankTable, float]:
    """The table of one model, fitted if it is not yet, and the seconds that ranking took."""
    from truerank import rank as rank_table
    from truerank.cli.model_spec import ModelSpec
    from truerank.execution import Threads

    if isinstance(model, ModelSpec):
        model = model.fit(split.train)
    executor = None if workers is None else Threads(workers)
    start = time.perf_counter()
    table = rank_table(model, split, design, seed=seed, executor=executor, **rules)
    return table, time.perf_counter() - start


def _row(name: str, table: RankTable, seconds: float, path: Path) -> dict[str, Any]:
    return {
        "model": name,
        "n_rows": len(table),
        "n_users": table.n_users,
        "n_items": int(table.n_items.max()),
        "exact": float(table.is_exact.mean()),
        "scored_per_row": float(table.n_scored.mean()),
        "adapted": table.adapted,
        "seconds": round(seconds, 3),
        "file": str(path),
    }


def _checked_rules(candidates: str, ties: str) -> dict[str, Any]:
    """Before anything is read, so that a mistake costs no time."""
    from truerank.checks import check_one_of
    from truerank.numerics.ties import TIE_RULES

    check_one_of("candidates", candidates, ("unseen", "all"))
    check_one_of("ties", ties, TIE_RULES)
    return {"candidates": candidates, "ties": ties}


def _targets(
    names: list[str], out: Path, force: bool, inputs: Sequence[str | Path | None]
) -> dict[str, Path]:
    """The file of each model, which may be written."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgumentError(
            "--model", twice, "named once", "two models of one name would share a file"
        )
    if out.suffix == ".parquet":
        if len(names) > 1:
            raise InvalidArgumentError(
                "--out", str(out), f"a folder for {len(names)} models", f"such as {out.stem}"
            )
        return {names[0]: new_file(out, force=force, inputs=inputs)}
    files = {name: out / f"{name}.parquet" for name in names}
    return {name: new_file(file, force=force, inputs=inputs) for name, file in files.items()}


def _source(
    made_by: list[dict[str, Any]], data: str | None, split: str | None, columns: dict[str, Any]
) -> Source:
    """What was typed; where nothing was, what the first model file was made with."""
    from truerank.cli.source import Source, source_of

    typed = {name: value for name, value in columns.items() if value is not None}
    for told in made_by:
        if "data" in told and (data is None or data == told["data"]):
            known = Source.of(told).but(split=split, **typed)
            if known.split != "none" or split is not None:
                return known
            raise InvalidArgumentError(
                "--split", "none", "one that holds something out",
                "this model was fitted on everything: fit it again with --split leave-one-out",
            )  # fmt: skip
    return source_of(data, split, **typed)


def _print(rows: list[dict[str, Any]], source: Source, design: str, *, as_json: bool) -> None:
    if as_json:
        about = {"data": source.data, "split": source.split, "design": design}
        print_json({**about, "tables": rows})
        return
    print_table(
        ("file", "rows", "users", "items", "exact", "scored/row", "seconds"),
        [
            (
                row["file"],
                f"{row['n_rows']:,}",
                f"{row['n_users']:,}",
                f"{row['n_items']:,}",
                f"{row['exact']:.0%}",
                f"{row['scored_per_row']:,.0f}",
                f"{row['seconds']:.1f}",
            )
            for row in rows
        ],
    )
    for row in rows:
        if row["adapted"]:
            remark(f"{row['model']}: {row['adapted']}")
    files = shlex.join(row["file"] for row in rows)
    remark(f"{source.data}, {source.split}, ranked by the design {design!r}")
    if source.columns:
        remark(f"columns: {source.columns}")
    remark(f"next: truerank {'estimate' if len(rows) == 1 else 'compare'} {files}")
