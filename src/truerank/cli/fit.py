"""``truerank fit``: a model from interactions, in a file."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from truerank.cli import options
from truerank.cli.config import Config
from truerank.cli.output import new_file, print_json, print_text, ready, remark

EXAMPLES = (
    "truerank fit --data ml-1m --model ease --set l2=500",
    "truerank fit --data ratings.csv --user-column userId --item-column movieId --model item-knn",
    "truerank fit --data ratings.csv --split 'temporal fraction=0.1' --model 'ease l2=100'",
    "truerank fit --data demo --model popularity --split none",
)


def fit(
    data: options.Data = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            autocompletion=options.model_names,
            help="A model such as ease, item-knn or popularity, with parameters: 'ease l2=500'.",
        ),
    ] = "ease",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the model; may be repeated."
        ),
    ] = None,
    split: options.Split = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Model file to write. Default: DATA-MODEL.model."),
    ] = None,
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
    """Fit a model on the training part of a split and save it to a file."""
    from truerank.cli.model_spec import parse_model
    from truerank.cli.source import source_of
    from truerank.models.saving import save

    spec = parse_model(model, settings)
    source = source_of(
        data, split, user_column=user_column, item_column=item_column, time_column=time_column,
        weight_column=weight_column, rating_column=rating_column, min_rating=min_rating,
        id_type=id_type, duplicates=duplicates, header=header, delimiter=delimiter,
        encoding=encoding,
    )  # fmt: skip
    stem = Path(source.data).name.split(".")[0]
    path = out or Path(f"{stem}-{spec.name}.model")
    new_file(path, force=force, inputs=[source.data, config])
    everything = source.split == "none"
    train = source.interactions if everything else source.made_split.train
    start = time.perf_counter()
    fitted = spec.fit(train)
    seconds = time.perf_counter() - start
    save(fitted, ready(path), force=force, made_by=source.to_dict())
    if as_json:
        print_json(
            {
                "model": spec.kind,
                "parameters": fitted.parameters(),
                "adapted": list(fitted.adapted),
                "data": source.data,
                "split": source.split,
                "n_users": train.n_users,
                "n_items": train.n_items,
                "n_interactions": train.n_interactions,
                "seconds": round(seconds, 3),
                "file": str(path),
            }
        )
        return
    print_text(
        f"{spec.described}, fitted in {seconds:.1f} s on {train.n_interactions:,} interactions of "
        f"{train.n_users:,} users with {train.n_items:,} items"
    )
    if everything:
        print_text("nothing was held out: this model cannot be evaluated on these data")
    else:
        report = source.made_split.report
        print_text(
            f"held out ({source.split}): {report.held_out:,} interactions of "
            f"{report.users_evaluated:,} users"
        )
    print_text(f"written: {path} ({path.stat().st_size / 1e6:,.1f} MB)")
    if source.columns:
        remark(f"columns: {source.columns}")
    if not everything:
        remark(f"next: truerank rank --model {shlex.quote(str(path))}")
