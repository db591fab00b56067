"""Which setting comes next: all of them, by chance, or as Optuna (extra ``tune``) proposes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from truerank.checks import check_one_of, whole_number
from truerank.errors import InvalidArgumentError, MissingExtraError
from truerank.rng import Stream, checked_seed, stream
from truerank.search.space import Between, Parameters, Space
from truerank.search.trial import Trial, setting_key

STRATEGIES = ("grid", "random", "optuna")
N_TRIALS = 20
ATTEMPTS = 1000
"""Draws before a space is taken to be exhausted."""


class Strategy(Protocol):
    """Proposes settings and hears what they were worth."""

    n_trials: int

    def ask(self, past: Sequence[Trial]) -> Parameters | None:
        """The next setting, a function of the past alone; None if there is none."""

    def tell(self, trial: Trial) -> None:
        """What came of the last one."""


class Grid:
    """Every combination, in order."""

    def __init__(self, space: Space) -> None:
        self._settings = space.grid()
        self.n_trials = len(self._settings)

    def ask(self, past: Sequence[Trial]) -> Parameters | None:
        """The next combination."""
        return self._settings[len(past)] if len(past) < self.n_trials else None

    def tell(self, trial: Trial) -> None:
        """A grid does not learn."""


class Random:
    """Independent draws without repeats [bergstra2012]_."""

    def __init__(self, space: Space, n_trials: int, seed: int) -> None:
        self._space, self._seed = space, checked_seed(seed)
        self.n_trials = int(min(n_trials, space.size()))

    def ask(self, past: Sequence[Trial]) -> Parameters | None:
        """A draw addressed by (seed, number of the trial)."""
        if len(past) >= self.n_trials:
            return None
        seen = {trial.key for trial in past}
        rng = stream(self._seed, Stream.SEARCH, len(past))
        for _ in range(ATTEMPTS):
            drawn = self._space.draw(rng)
            if setting_key(drawn) not in seen:
                return drawn
        return None

    def tell(self, trial: Trial) -> None:
        """Chance does not learn."""


class Optuna:
    """Learns from the trials so far where good settings are [akiba2019]_.

    The sampler is made anew for every trial from (seed, number of the trial), so the next setting
    is a function of the past alone, and a search that was interrupted goes on as it would have.
    A list of values is a set of unordered choices; give a ``Between`` where order means something.
    """

    def __init__(self, space: Space, n_trials: int, seed: int) -> None:
        try:
            self._optuna: Any = import_module("optuna")
        except ImportError:
            raise MissingExtraError("optuna", "tune", "strategy='optuna'") from None
        self.n_trials, self._seed = n_trials, checked_seed(seed)
        self._parts = {name: self._distribution(part) for name, part in space.parts.items()}
        with self._quiet():
            self._study = self._optuna.create_study(direction="maximize")
        self._asked: Any = None

    def ask(self, past: Sequence[Trial]) -> Parameters | None:
        """The setting where the ratio of good to bad past settings is largest."""
        if len(past) >= self.n_trials:
            return None
        seed = (self._seed * 1_000_003 + len(past)) % 2**32
        with self._quiet():
            self._study.sampler = self._optuna.samplers.TPESampler(seed=seed)
            self._asked = self._study.ask(self._parts)
        return dict(self._asked.params)

    def tell(self, trial: Trial) -> None:
        """What came of it; a pruned trial counts as worse than any finished one."""
        state = self._optuna.trial.TrialState
        with self._quiet():
            if math.isnan(trial.value):
                self._study.tell(self._asked, state=state.FAIL)
            elif trial.status == "pruned":
                self._asked.report(trial.value, step=trial.n_users)
                self._study.tell(self._asked, state=state.PRUNED)
            else:
                self._study.tell(self._asked, trial.value)

    def _distribution(self, part: tuple[Any, ...] | Between) -> Any:
        kinds = self._optuna.distributions
        if not isinstance(part, Between):
            return kinds.CategoricalDistribution(part)
        if part.whole:
            return kinds.IntDistribution(int(part.low), int(part.high), log=part.log)
        return kinds.FloatDistribution(float(part.low), float(part.high), log=part.log)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Without Optuna's line per trial; what the caller has set comes back."""
        before = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        try:
            yield
        finally:
            self._optuna.logging.set_verbosity(before)


def make_strategy(name: str, space: Space, n_trials: int | None, seed: int) -> Strategy:
    """The strategy of this name."""
    check_one_of("strategy", name, STRATEGIES)
    if n_trials is not None:
        n_trials = whole_number("n_trials", n_trials)
    if name == "grid":
        grid = Grid(space)
        if n_trials is not None and n_trials != grid.n_trials:
            raise InvalidArgumentError(
                "n_trials", n_trials, f"left out for a grid, which has {grid.n_trials:,} trials",
                "use strategy='random' for some of them",
            )  # fmt: skip
        return grid
    wanted = N_TRIALS if n_trials is None else n_trials
    if name == "random":
        return Random(space, wanted, seed)
    return Optuna(space, wanted, seed)
