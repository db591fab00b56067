"""A plan: the designs that were considered, what each would cost and give, and the one to take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from truerank.deprecation import renamed_parameters
from truerank.errors import Message, MissingExtraError, joined
from truerank.estimators.population import Population
from truerank.estimators.summary_text import whose
from truerank.planning.costs import Rates
from truerank.ranking import Full
from truerank.ranking.designs import Design

if TYPE_CHECKING:
    import pandas as pd


_UNTRIED = (
    "Designs that score less were not tried, since ranking everything is quick and precise enough: "
)
UNTRIED = Message(
    _UNTRIED + "designs=[...] tries those you name.", _UNTRIED + "--try SPEC tries one."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOption:
    """One design.

    Attributes:
        design: To be passed to :func:`truerank.rank`.
        words: The same in words, for ``--design`` of the command line.
        n_users: Users that are ranked.
        error: Predicted root mean squared error of the metric, or of the difference of two models.
        bias: Part of it that more users would not remove.
        std_error: The rest: ``error**2 == bias**2 + std_error**2``.
        pairs: (user, item) pairs to be scored, for one model.
        seconds: Time to score them.
        meets: Whether the error is as small as wanted.
        pareto: Whether no other design is both quicker and more precise.
    """

    design: Design
    words: str
    n_users: int
    error: float
    bias: float
    std_error: float
    pairs: float
    seconds: float
    meets: bool
    pareto: bool

    @property
    def command(self) -> str:
        """What to type: the dots stand for the data and the model."""
        return f'truerank rank ... --design "{self.words}"'

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        values = {f: getattr(self, f) for f in self.__slots__ if f != "design"}
        return {**values, "command": self.command}


@renamed_parameters(wish="wanted")
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What :func:`truerank.plan` found; printing it shows the table and the recommendation.

    Attributes:
        n_items: Items of the catalogue.
        n_users: Users there are.
        metric: In the notation ``recall@10``.
        value: Its assumed value.
        wanted: What was wanted, in words.
        population: Whose metric it is about: ``infinite``, future users; ``finite``, these users.
        target: The largest error that is precise enough.
        source: Where the assumed ranks come from, in words.
        rates: Pairs scored per second.
        options: The designs, cheapest first.
        recommended: The one to take.
        only_full: Whether nothing was tried but full ranking, since that is precise enough and
            takes seconds.
    """

    n_items: int
    n_users: int
    metric: str
    value: float
    wanted: str
    population: Population
    target: float
    source: str
    rates: Rates
    options: tuple[PlanOption, ...]
    recommended: PlanOption
    only_full: bool = False

    @property
    def pareto(self) -> tuple[PlanOption, ...]:
        """The options that no other one beats in both time and error, cheapest first."""
        return tuple(option for option in self.options if option.pareto)

    @property
    def command(self) -> str:
        """What to type for the recommended design."""
        return self.recommended.command

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = (
            "n_items",
            "n_users",
            "metric",
            "value",
            "wanted",
            "population",
            "target",
            "source",
            "only_full",
        )
        return {
            **{name: getattr(self, name) for name in plain},
            "rates": asdict(self.rates),
            "options": [option.to_dict() for option in self.options],
            "recommended": self.recommended.to_dict(),
            "sentence": self.sentence,
            "wish": self.wanted,  # its name in JSON until the next release
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per option, as a pandas frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "frames", "Plan.to_frame()") from None
        return pd.DataFrame([option.to_dict() for option in self.options])

    @property
    def sentence(self) -> str:
        """The recommendation in words."""
        best = self.recommended
        full = next(option for option in self.options if isinstance(option.design, Full))
        whom = f"all {self.n_users:,} users"
        if best.n_users < self.n_users:
            whom = f"{best.n_users:,} of the {self.n_users:,} users"
        about = whose(self.population, self.n_users)
        error = f"predicted error {best.error:.2g} ({best.error / self.value:.1%} of the value)"
        error += f" for {about}"
        if best.error == 0:
            error = f"no error for {about}, since every rank is exact"
        text = (
            f'Rank {whom} with "{best.words}": {error}, {_pairs(best.pairs)} pairs, '
            f"{_time(best.seconds)} a model."
        )
        if full != best:
            text += f" Ranking everything: {_pairs(full.pairs)} pairs, {_time(full.seconds)}."
        return text

    def __str__(self) -> str:
        heads = ("design", "users", "error", "of value", "bias", "pairs", "time", "")
        rows = [
            (
                option.words, f"{option.n_users:,}", f"{option.error:.2g}",
                f"{option.error / self.value:.1%}", f"{option.bias / self.value:.1%}",
                _pairs(option.pairs), _time(option.seconds), self._marks(option),
            )
            for option in self.options
        ]  # fmt: skip
        how = "measured here" if self.rates.measured else "as given"
        rates = self.rates
        speed = f"{_pairs(rates.full)} a second"
        if not rates.full == rates.sampled == rates.shared:
            speed += f" in full, {_pairs(rates.sampled)} sampled"
            speed += f", {_pairs(rates.shared)} in a screen"
        lines = [
            f"{self.metric}, {self.n_items:,} items, {self.n_users:,} users",
            f"wanted: {self.wanted}",
            f"assumed: {self.source}",
            f"pairs scored, {how}: {speed}",
            "",
            *_aligned([heads, *rows]),
            "",
            self.sentence,
            *([UNTRIED] if self.only_full else []),
            f"  {self.command}",
        ]
        return joined("\n", lines)

    def _marks(self, option: PlanOption) -> str:
        marks = ["meets" if option.meets else "", "pareto" if option.pareto else ""]
        if option == self.recommended:
            marks.append("<- recommended")
        return " ".join(mark for mark in marks if mark)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns of one width: text to the left, numbers to the right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if j in (0, len(row) - 1) else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _pairs(pairs: float) -> str:
    """Pairs for people.

    >>> [_pairs(x) for x in (950, 12_000, 3.2e7, 1e13)]
    ['950', '12 thousand', '32 million', '10,000 billion']
    """
    for size, name in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if pairs >= size:
            return f"{float(f'{pairs / size:.3g}'):,.10g}{name}"
    return f"{pairs:,.0f}"


def _time(seconds: float) -> str:
    """Seconds for people.

    >>> [_time(x) for x in (0.02, 75, 8_000, 1e6)]
    ['0.02 s', '75 s', '2.2 h', '12 days']
    """
    for size, name in ((172_800, 86_400), (5_400, 3_600), (100, 60)):
        if seconds >= size:
            unit = {86_400: "days", 3_600: "h", 60: "min"}[name]
            return f"{seconds / name:.2g} {unit}"
    return f"{seconds:.2g} s"
