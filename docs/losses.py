"""The dissertation's table of losses, its claims and its figures; writes docs/losses.md.

    python docs/losses.py --search-only --cache /tmp/losses   # validation users only
    python docs/losses.py --cache /tmp/losses --figures docs/figures

Trainings that are finished are kept in the cache, so that a broken run goes on where it stopped,
and trials in the record beside the recipe, for anybody; one run at a time writes there. Settings
that the record knows are not tried again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from truerank.comparison.corrections import adjust
from truerank.comparison.named_tests import run_test
from truerank.data.interactions import Interactions
from truerank.report.figures import save_figure
from truerank.report.figures_losses import parameter_figure
from truerank.reproduce.claims import LEVEL, answers
from truerank.reproduce.equal_search import expected_best
from truerank.reproduce.loss_recipe import LossCurve, LossRecipe, LossRow, loss_recipe
from truerank.reproduce.loss_table import LossLine, LossTableRuns, reached
from truerank.reproduce.loss_trials import RECORD, LossTrial, write_record
from truerank.split import Split, ratio

PAGE = Path(__file__).with_suffix(".md")


def main() -> None:
    """Train what is not known, and write the page, or the record alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--search-only", action="store_true", help="evaluate settings and record them"
    )
    parser.add_argument("--data", action="append", help="data sets of the search; all if not given")
    parser.add_argument("--row", action="append", help="rows of the search; all if not given")
    parser.add_argument("--workers", type=int, help="threads of a training")
    parser.add_argument("--cache", type=Path, help="folder for finished trainings")
    parser.add_argument("--figures", type=Path, default=PAGE.parent / "figures")
    given = parser.parse_args()
    if (given.data or given.row) and not given.search_only:
        parser.error("the page has all data and rows; --data and --row go with --search-only")
    recipe = loss_recipe()
    rows = [recipe.row(name) for name in given.row] if given.row else recipe.rows
    names = given.data or list(dict.fromkeys(data for row in rows for data in row.tried))
    tables = {data: LossTableRuns(data, cache=given.cache, workers=given.workers) for data in names}
    parts = []
    for data, table in tables.items():
        lines = []
        for row in rows:
            record(table, row, table.search(row))
            if not given.search_only:
                lines.append(table.line(row))
                record(table, row, [lines[-1].chosen])
            sys.stderr.write(f"{data}, {row.name}\n")
        if lines:
            parts.append(section(recipe, data, lines, table.split))
    if given.search_only:
        return
    drawn = [draw(recipe, curve, tables[curve.data], given.figures) for curve in recipe.curves]
    text = _TEXT.format(
        seeds=len(recipe.seeds),
        select=recipe.select_by,
        within=f"{recipe.within:.0%}",
        common=", ".join(f"{name} {value}" for name, value in recipe.common.items()),
        sections="\n".join(parts),
        curves="\n".join(drawn),
    )
    PAGE.write_text(text, encoding="utf-8")


def record(table: LossTableRuns, row: LossRow, trials: Sequence[LossTrial]) -> None:
    """Add these trials to the record, those known with their rates in the place of others."""
    path = Path(str(files("truerank.reproduce") / "recipes" / RECORD))
    known = {k: LossTrial.of(t) for k, t in json.loads(path.read_text(encoding="utf-8")).items()}
    known |= {table.key(row, trial.setting, trial.seed): trial for trial in trials}
    write_record(path, known.items())


def section(recipe: LossRecipe, data: str, lines: Sequence[LossLine], split: Split) -> str:
    """Everything about one data set."""
    return _SECTION.format(
        data=data,
        published=f"{scatter(split):.2f}",
        random=f"{scatter(redrawn(split)):.2f}",
        select=recipe.select_by,
        least=least(lines),
        lengths=lengths(lines),
        results=results(recipe, data, lines),
        claims=claims(recipe, data, lines),
        mixed=mixed(recipe, lines),
        order=order(recipe, lines),
        n_tried=sum(len(line.tried) for line in lines),
        tried=tried(lines),
    )


def scatter(split: Split) -> float:
    r"""How much items' shares of test pairs vary, in units of what chance makes of them.

    With n pairs of an item, t of them in the test, and s the share of all pairs that are there, it
    is the mean over items of :math:`(t - s n)^2 / (n s (1 - s))`: 1 for a random part of the pairs.
    """
    n = split.train.item_counts + split.held_out.item_counts
    share = split.held_out.item_counts.sum() / n.sum()
    tested, n = split.held_out.item_counts[n > 0], n[n > 0]
    return float(np.mean((tested - share * n) ** 2 / (n * share * (1 - share))))


def redrawn(split: Split) -> Split:
    """A random split of the same pairs, with about as many of each user in the test."""
    parts = split.train, split.held_out
    users, items = (
        np.concatenate([getattr(part, side) for part in parts]) for side in ("users", "items")
    )
    data = Interactions.from_arrays(
        users, items, user_ids=split.train.user_ids, item_ids=split.train.item_ids
    )
    return ratio(data, len(parts[1]) / len(users))


def results(recipe: LossRecipe, data: str, lines: Sequence[LossLine]) -> str:
    """Ours beside the printed numbers."""
    heads = ["loss"]
    for metric in recipe.metrics:
        heads += [metric, "printed"]
    rows = []
    for line in lines:
        shown = [line.row.name]
        for metric, printed in zip(recipe.metrics, line.row.published[data], strict=True):
            shown += [mean_and_spread(line.values(metric)), f"{printed:.4f}"]
        yes = "yes" if reached(line, data, recipe) else "**no**"
        rows.append([*shown, yes, words(line.chosen.setting), f"{line.chosen.best_epoch}"])
    return _table([*heads, "reached", "chosen", "epochs"], rows)


def claims(recipe: LossRecipe, data: str, lines: Sequence[LossLine]) -> str:
    """The dissertation's claims by paired tests."""
    rows = [
        [
            answer.question.claim,
            answer.metric,
            f"{answer.difference:+.4f} ± {answer.std_error:.4f}",
            f"{answer.p_adjusted:.2g}",
            answer.words,
            f"{answer.published[data]:+.4f}",
        ]
        for answer in answers(recipe, lines)
    ]
    return _table(["claim", "metric", "difference", "p (Holm)", "found", "printed"], rows)


def mixed(recipe: LossRecipe, lines: Sequence[LossLine]) -> str:
    """Which claims compare more than losses, because the rows were chosen with other scores."""
    kinds = {
        line.row.name: recipe.settings(line.row, line.chosen.setting).get("similarity", "dot")
        for line in lines
    }
    other = [
        f"*{question.claim}* ({kinds[question.better]} against {kinds[question.worse]})"
        for question in recipe.questions
        if kinds[question.better] != kinds[question.worse]
    ]
    if not other:
        return "Both losses of each claim were chosen with the same similarity."
    return (
        f"Some claims compare more than losses, because validation users chose other similarities "
        f"for the two: {', '.join(other)}."
    )


def order(recipe: LossRecipe, lines: Sequence[LossLine]) -> str:
    """All losses from the best on, which can be told from it, and how each was searched."""
    metric = recipe.select_by
    ranked = sorted(lines, key=lambda line: -float(line.per_user(metric).mean()))
    best, *others = ranked
    tests = [run_test("paired-t", best.per_user(metric), line.per_user(metric)) for line in others]
    adjusted = adjust([test.p_value for test in tests], "holm")
    compared = [["", "", ""]] + [
        [
            f"{-test.difference:+.4f} ± {test.std_error:.4f}",
            f"{p:.2g}",
            "no" if p >= LEVEL else "yes",
        ]
        for test, p in zip(tests, adjusted, strict=True)
    ]
    rows = [
        [line.row.name, mean_and_spread(line.values(metric)), *found, f"{len(line.tried)}",
         *searched(line, least(lines))]
        for line, found in zip(ranked, compared, strict=True)
    ]  # fmt: skip
    heads = ["loss", metric, "to the best", "p (Holm)", "told apart", "settings", "validation"]
    return _table([*heads, f"best of {least(lines)}"], rows)


def least(lines: Sequence[LossLine]) -> int:
    """Settings of the row that was searched least."""
    return min(len(line.tried) for line in lines)


def lengths(lines: Sequence[LossLine]) -> str:
    """How many settings each loss was given, in words."""
    more = [
        f"{line.row.name} {len(line.tried)}" for line in lines if len(line.tried) > least(lines)
    ]
    return f"Each was given {least(lines)} settings" + (f" ({', '.join(more)})" if more else "")


def searched(line: LossLine, k: int) -> list[str]:
    """The best value on the validation users, and that to be expected after k settings."""
    values = [trial.validation for trial in line.tried]
    return [f"{max(values):.4f}", f"{expected_best(values, k):.4f}"]


def tried(lines: Sequence[LossLine]) -> str:
    """Every setting with its value on the validation users."""
    rows = []
    for line in lines:
        for trial in line.tried:
            bold = "**" if trial.setting == line.chosen.setting else ""
            value = f"{bold}{trial.validation:.4f}{bold}"
            when = f"{trial.best_epoch} of {trial.epochs}"
            rows.append(
                [line.row.name, words(trial.setting), value, when, f"{trial.seconds:,.0f} s"]
            )
    return _table(["loss", "setting", "validation", "best epoch", "time"], rows)


def draw(recipe: LossRecipe, curve: LossCurve, table: LossTableRuns, folder: Path) -> str:
    """A figure, and the line of the page that shows it."""
    found = table.curve(curve)
    for name, trials in found.items():
        record(table, recipe.row(name), trials)
    points = {
        name: [(trial.setting[curve.parameter], trial.validation) for trial in trials]
        for name, trials in found.items()
    }
    figure = parameter_figure(
        points, parameter=curve.parameter, metric=f"{recipe.select_by}, validation users",
        title=curve.data,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"losses-{curve.name}.svg"
    file.unlink(missing_ok=True)
    save_figure(figure, file)
    kept = [f"{name} with {words(around)}" for name, around in curve.around.items() if around]
    less = f" With {words(curve.fixed)}; {', '.join(kept)}."
    picture = f"![{curve.name}](figures/{file.name})"
    return f"{curve.name.capitalize()}, on {curve.data}.{less}\n\n{picture}\n"


def words(setting: Mapping[str, object]) -> str:
    """A setting in words."""
    return ", ".join(
        f"{name} {value:g}" if type(value) is float else f"{name} {value}"
        for name, value in setting.items()
    )


def mean_and_spread(values: tuple[float, ...]) -> str:
    """Mean over seeds, and half of their range."""
    return f"{np.mean(values):.4f} ± {(max(values) - min(values)) / 2:.4f}"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


_TEXT = """\
# Losses on matrix factorisation: the dissertation's table

Written by `docs/losses.py` from `reproduce/recipes/loss_table.toml`: do not edit. `truerank
reproduce losses` prints the results and the claims.

Splits of NGCF, every item ranked, training items excluded; Recall@20 divides by |T_u|, NDCG@20 by
the ideal of min(20, |T_u|). A tenth of the users have a fifth of their *training* items held out:
they choose settings, epochs and learning rates, by {select}. What was chosen is trained on all of
the training data with {seeds} seeds (`MF.refit`), and only these models see the test users. Values
are means over seeds ± half of their range; *reached* is at least the printed number less {within},
in both metrics.

The test users were looked at more than once. A first table had sparse Adam only; half of its rows
fell short of print, and dense Adam ([decision 9](decisions/0009-dense-adam.md)) was tried because
of that. In the second, 8 of 18 rows did; two more settings of BPR and of MSE on yelp2018 were tried
after it and changed BPR's row. For the third all short searches went on, with smaller batches, dot
products and dropout among what was tried, and what was chosen was trained on everything, where the
tables before had the models of the validation runs; 4 of 18 rows fell short. For this
fourth one all losses were given as many settings (BPR on gowalla had more). The last of each starts
its best one before (on cosines, where it had both) from vectors of length 0.001, as the published
code does (`embedding_initializer`: 1e-4 in each of 64 dimensions); with a cosine that is a faster
start. Two trainings of CCL that led there (validation {select} .1406 with learning_rate
1e-4, .1418 with `lr_patience` 3) are not part of the table, nor are ten with sets of negatives
([decision 10](decisions/0010-sets-of-negatives.md)).
Every single choice was made by the validation users; that there was more to be done was seen on
the test.

How the printed numbers were chosen is not said: chapter 3 names no validation users, and follows
the setting of SimpleX. The public configuration of its MF-CCL (reczoo/RecBox,
`benchmarks/Yelp18/MF_CCL_yelp18_x0`) has `valid_data: ../data/Yelp18/yelp18_x0/test.csv` and
`monitor: Recall(k=20)`: epochs and learning rates are chosen by the test users themselves.

Common to all: {common}.

{sections}
## Hyper-parameters, one at a time

On the validation users, in short trainings around settings of the table, with sparse Adam unless
something else is said.

{curves}
"""

_SECTION = """\
## {data}

{results}

**The claims.** The first loss minus the second on the same users, mean over seeds; paired t tests,
Holm over all of them. On par: ahead of the other less 3 %. They are about these trained
models: users vary, seeds and searches do not.

{claims}

{mixed}

**Which loss is best, each tuned on the same users?** {lengths}. *Told apart* from the best by a
paired test over users, which knows nothing of the spread over seeds, beside the values. The last
columns are the validation users' {select}: that of the chosen setting, and the mean of the best of
{least} of all its settings, which makes no longer search an advantage.

{order}

The published test is not a random part of the data: items' shares of test pairs vary {published}
times as much as chance would make them ({random} if the same pairs are split at random). The
validation users are drawn at random from the training pairs: what is best for them need not be
best for the test.

<details><summary>All {n_tried} settings that were tried</summary>

{tried}

</details>
"""


if __name__ == "__main__":
    main()
