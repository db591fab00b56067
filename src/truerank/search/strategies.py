"""Which setting comes next: all of them, or by chance; see :mod:`.search_optuna` for a third."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from truerank.errors import InvalidArgumentError
from truerank.rng import Stream, checked_seed, stream
from truerank.search.space import Parameters, Space
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


def make_strategy(name: str, space: Space, n_trials: int | None, seed: int) -> Strategy:
    """The strategy of this name."""
    if name not in STRATEGIES:
        raise InvalidArgumentError("strategy", name, f"one of {', '.join(STRATEGIES)}")
    if n_trials is not None and (isinstance(n_trials, bool) or n_trials < 1):
        raise InvalidArgumentError("n_trials", n_trials, "a whole number, at least 1")
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
    from truerank.search.optuna import Optuna

    return Optuna(space, wanted, seed)
