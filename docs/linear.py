"""The dissertation's table of linear models on data at hand; writes docs/linear.md.

    python docs/linear.py --cache /tmp/linear --figures docs/figures

Rows that are finished are kept in the cache, so that a broken run goes on where it stopped. With
``--stdout`` the page is printed instead of written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from truerank.models import EDLAE, LRR, LearnedLinear
from truerank.report.figures import save_figure
from truerank.report.figures_linear import learned_lambdas_figure, shrinkage_figure
from truerank.reproduce.claims import LEVEL, Answer, answers
from truerank.reproduce.linear_recipe import Recipe
from truerank.reproduce.linear_table import Line, LinearTable

PAGE = Path(__file__).with_suffix(".md")

START, REACH = 4.0, 0.9
"""Where lambda_i are learned from, in units of the best lambda, and how far they may go."""


def main() -> None:
    """Run what is not cached, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="ml-1m", help="a data set of the recipe")
    parser.add_argument("--row", action="append", help="rows to make; all if not given")
    parser.add_argument("--cache", type=Path, help="folder for finished rows")
    parser.add_argument("--figures", type=Path, help="folder for the two figures")
    parser.add_argument("--stdout", action="store_true", help="print the page")
    given = parser.parse_args()
    table = LinearTable(given.data, cache=given.cache)
    lines = []
    for line in table.lines(given.row):
        lines.append(line)
        sys.stderr.write(f"{line.row.name}: {line.seconds:.0f} s, {settings(line)}\n")
    learned = learned_penalties(table)
    if given.figures:
        given.figures.mkdir(parents=True, exist_ok=True)
        draw(table, lines, learned, given.figures)
    text = page(table, lines, learned)
    if given.stdout:
        sys.stdout.write(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


def learned_penalties(table: LinearTable) -> LearnedLinear:
    """Lambdas learned from a start that is somewhat too large, as the dissertation's figure has."""
    best = table.line(table.recipe.row("LRR")).setting
    l2 = START * best["l2"]
    history = table.validation.fold_in or table.validation.train
    return LearnedLinear(lambda_range=REACH * l2, head_tail=False).fit(
        table.test.train,
        base=LRR(l2=l2, dim=best["dim"]),
        spectrum=table.spectrum,
        validation=(history, table.validation.held_out),
    )


def rounds_of(table: LinearTable) -> str:
    """How the two solvers of the low-rank EDLAE go, at the chosen dropout and l2."""
    chosen = table.line(table.recipe.row("EDLAE")).setting
    shown = (1, 5, 10, 20, 30)
    rows = []
    for dim in (50, chosen["dim"]):
        for solver in ("descent", "admm"):
            model = EDLAE(chosen["dropout"], chosen["l2"], dim=dim, epochs=30, solver=solver)
            values = model.fit(table.test.train).convergence.objective
            said = [f"{values[i - 1]:,.4g}" if i <= len(values) else "–" for i in shown]
            rows.append([str(dim), solver, *said, f"{values.min():.4f}"])
    return _table(["dim", "solver", *(f"round {i}" for i in shown), "lowest"], rows)


def draw(table: LinearTable, lines: Sequence[Line], learned: LearnedLinear, folder: Path) -> None:
    """The two figures of the chapter."""
    chosen = {line.row.name: line.setting for line in lines}
    l2, mf = chosen["LRR"]["l2"], chosen["MF (closed form)"]["l2"]
    sigma = table.spectrum.sigma
    figure = shrinkage_figure(sigma, l2=l2, mf_l2=mf, title=f"Shrinkage on {table.data}")
    save_figure(figure, folder / "linear-shrinkage.svg")
    figure = learned_lambdas_figure(
        learned.sigma, learned.lambdas, l2=START * l2, title=f"Learned penalties on {table.data}"
    )
    save_figure(figure, folder / "linear-lambdas.svg")


def settings(line: Line) -> str:
    """Chosen hyper-parameters in words."""
    values = line.setting.items()
    said = [f"{k} {str(v).lower()}" if isinstance(v, bool) else f"{k} {v:g}" for k, v in values]
    return ", ".join(said) or "as the base"


def results(recipe: Recipe, lines: Sequence[Line]) -> str:
    """The table, with standard errors and the published numbers."""
    heads = ["model", *recipe.metrics, "ML-20M (published)", "chosen", "epochs"]
    best = {m: max(line.value(m)[0] for line in lines) for m in recipe.metrics}
    rows = []
    for line in lines:
        shown = []
        for metric in recipe.metrics:
            value, error = line.value(metric)
            bold = "**" if value == best[metric] else ""
            shown.append(f"{bold}{value:.4f}{bold} ± {error:.4f}")
        published = line.row.published.get("ml-20m")
        there = " / ".join(f"{value:.3f}" for value in published) if published else ""
        epochs = "" if line.epochs is None else str(line.epochs)
        rows.append([line.row.name, *shown, there, settings(line), epochs])
    return _table(heads, rows)


def verdicts(recipe: Recipe, found: Sequence[Answer]) -> str:
    """Every claim with its differences and what they say."""
    heads = ["claim", *recipe.metrics, "by us", "ML-20M, Netflix, MSD (published)"]
    rows = []
    for question in recipe.questions:
        own = [a for a in found if a.question == question]
        if not own:
            continue
        shown = [f"{a.difference:+.4f} ± {a.std_error:.4f} (p {a.p_adjusted:.2g})" for a in own]
        (judged,) = (a for a in own if a.metric == recipe.select_by)
        there = ", ".join(f"{value:+.3f}" for value in judged.published.values())
        rows.append([question.claim, *shown, judged.words, there])
    return _table(heads, rows)


def page(table: LinearTable, lines: Sequence[Line], learned: LearnedLinear) -> str:
    """The whole page."""
    recipe, test = table.recipe, table.test
    lambdas, k = learned.lambdas, len(learned.lambdas)
    chosen = {line.row.name: line.setting for line in lines}
    found = answers(recipe, lines)
    by_name = {line.row.name: line for line in lines}
    with_ht, with_rmd = (
        by_name[name].table.rank for name in ("LRR + lambda_i + HT", "LRR + lambda_i + HT + RMD")
    )
    same = float((with_ht == with_rmd).mean())
    factorisation = "; ".join(
        f"{a.question.better} against {a.question.worse}: {a.words}"
        for a in found
        if a.metric == recipe.select_by and "factorisation" in a.question.claim
    )
    ranges = ((0, 1), (1, 10), (10, 100), (100, k))
    means = ", ".join(
        f"{lambdas[a:b].mean():,.0f} for components {a + 1} to {min(b, k)}" for a, b in ranges
    )
    return _TEXT.format(
        data=table.data,
        n_train=int((test.train.user_counts > 0).sum()),
        n_test=test.report.users_evaluated,
        n_validation=table.validation.report.users_evaluated,
        n_items=int((test.train.item_counts > 0).sum()),
        n_interactions=test.report.train,
        select=recipe.select_by,
        results=results(recipe, lines),
        verdicts=verdicts(recipe, found),
        n_tests=len(found),
        level=f"{LEVEL:.0%}",
        l2=START * chosen["LRR"]["l2"],
        c=learned.lambda_range,
        epochs=learned.best_epoch,
        conjecture="Nothing was learned: the start was best for the validation users."
        if learned.best_epoch == 0
        else "They follow the dissertation's conjecture: large components are shrunk more, "
        "small ones less."
        if lambdas[:10].mean() > lambdas[100:].mean()
        else "They do not follow the dissertation's conjecture: large components are not shrunk "
        "more than small ones.",
        means=means,
        rounds=rounds_of(table),
        start=START,
        factorisation=factorisation,
        same=same,
    )


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


_TEXT = """\
# Linear models: the dissertation's table

Written by `docs/linear.py` from `reproduce/recipes/linear_table.toml`: do not edit.

{data}, ratings of 4 and more, users with at least 5 of them; {n_items:,} items. Strong
generalisation: {n_train:,} training users with {n_interactions:,} interactions, {n_validation:,}
validation users who choose hyper-parameters and stop learning (by {select}), {n_test:,} test users
ranked once, in full, 80 % of their items folded in. `recall-capped` divides by min(K, |T_u|).
Values with their standard errors over test users; *epochs* until the best one of a learned linear
model, 0 where its base was best.

{results}

CDAE, Mult-DAE and Mult-VAE of the same table are not linear and not here. ML-20M, Netflix and MSD
could not be fetched: the recipe has their splits and grids, and the published numbers are printed
beside ours only to compare *differences* between rows. Their recipes run end to end on generated
data of their shape (`truerank reproduce linear --data msd --generated 0.02`; 1 is all of it).

## What the dissertation observed, and what we find

The first row minus the second on the same users: mean ± standard error, and p of the paired t test
by Holm over all {n_tests} tests. *By us* is about {select}: confirmed or refuted at {level}, not
shown otherwise.

{verdicts}

Reading it:

- **Regression against factorisation.** {factorisation}. With one and the same decomposition the
  regression shrinks better than the factorisation; but a weighted factorisation, with the weight of
  unobserved pairs tuned like everything else, is better still.
- **Learned linear models.** They start at the base and are stopped by validation users, so they
  can hardly be worse; the table says how much better. The base was fitted on the users that BPR
  now trains on, and BPR on them prefers weaker regularisation than new users do: after one or a few
  epochs the validation value falls while the training loss still does.
- **RMD** (removing the diagonal) cannot change the rank of an unseen item: the item is not in the
  row, so its diagonal entry is multiplied by zero. In training it can only matter where the
  positive stays in its own input row; the authors' runs take it out. With it taken out,
  {same:.2%} of the ranks of both rows are the same (the rest is rounding: one is scored as a
  product of two factors, the other with its diagonal taken out). The two rows "positive kept" show
  what RMD is worth where it can act.
- **The learned lambda_i.** {conjecture} Learned for {epochs} epochs from lambda = {l2:,g}, which is
  {start:g} times the best one (from 1.5 times, nothing was learned), with lambda_range = {c:,g}:
  {means}.

![Shrinkage](figures/linear-shrinkage.svg)
![Learned penalties](figures/linear-lambdas.svg)

## EDLAE of low rank: descent instead of ADMM

The objective per user, less that of W = 0, round by round (a dash: no longer a number). The
published way, ADMM, guarantees no descent and may diverge: with the recipe's setting for MSD on
generated data of a hundredth of its shape it does. Descent never rises. Where both converge, they
may do so in different places, either of them slightly lower.

{rounds}
"""


if __name__ == "__main__":
    main()
