"""Settings proposed by Optuna's tree-structured Parzen estimator (extra ``tune``)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from truerank.errors import MissingExtraError
from truerank.rng import checked_seed
from truerank.search.space import Between, Parameters, Space
from truerank.search.trial import Trial


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
