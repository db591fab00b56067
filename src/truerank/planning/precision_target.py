"""What is wanted of a plan: an error of one metric, or a difference of two models to be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from truerank.errors import InvalidArgumentError, option
from truerank.estimators.population import Population
from truerank.planning.numbers import is_finite
from truerank.planning.predicted_error import PredictedError
from truerank.planning.user_sampling import critical_value, normal_quantile

Kind = Literal["rel_error", "abs_error", "detect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionTarget:
    """How precise a plan must be; see :mod:`truerank.planning.plan_design`."""

    kind: Kind
    size: float
    correlation: float
    power: float
    confidence: float
    population: Population

    @classmethod
    def of(
        cls,
        rel_error: float | None,
        abs_error: float | None,
        detect: float | None,
        *,
        correlation: float,
        power: float,
        confidence: float,
        population: Population = "infinite",
    ) -> PrecisionTarget:
        """The one of the three that was given."""
        all_kinds: dict[Kind, float | None] = {
            "rel_error": rel_error, "abs_error": abs_error, "detect": detect
        }  # fmt: skip
        made = {kind: size for kind, size in all_kinds.items() if size is not None}
        if len(made) != 1:
            raise InvalidArgumentError(
                "what is wanted", ", ".join(made) or None,
                "exactly one of rel_error, abs_error and detect",
                "for instance rel_error=0.02",
            )  # fmt: skip
        ((kind, size),) = made.items()
        if not (is_finite(size) and size > 0):
            raise InvalidArgumentError(kind, size, "positive")
        if not (is_finite(correlation) and -1 <= correlation < 1):
            raise InvalidArgumentError("correlation", correlation, "from -1 to below 1")
        if not (is_finite(power) and 0.5 <= power < 1):
            raise InvalidArgumentError("power", power, "from 0.5 to below 1")
        if not (is_finite(confidence) and 0 < confidence < 1):
            raise InvalidArgumentError("confidence", confidence, "between 0 and 1")
        if kind == "detect" and population == "finite":
            raise InvalidArgumentError(
                "population", population, "'infinite' for detect: a test is about future users",
                "for the users there are, ask for an error: rel_error= or abs_error=",
            )  # fmt: skip
        return cls(
            kind=kind, size=float(size), correlation=correlation, power=power,
            confidence=confidence, population=population,
        )  # fmt: skip

    @property
    def _certainty(self) -> float:
        return critical_value(self.confidence, 1) + normal_quantile(self.power)

    def target(self, value: float) -> float:
        """The largest error that fulfils it, absolute."""
        if self.kind == "detect":
            return self.size / self._certainty
        return self.size * (value if self.kind == "rel_error" else 1.0)

    def parts(self, found: PredictedError, m: int, n_users: int) -> tuple[float, float]:
        """Mean squares of the bias and of the rest, relative to the value, for m users."""
        bias, items, users = found.parts(m, m / n_users if self.population == "finite" else 0.0)
        if self.kind != "detect":
            return bias, items + users
        alike = 2.0 * (1.0 - self.correlation)
        return 2.0 * bias, 2.0 * items + alike * users

    def error(self, found: PredictedError, m: int, n_users: int) -> float:
        """Root of their sum."""
        return float(np.sqrt(sum(self.parts(found, m, n_users))))

    def unreachable(self, best: float, value: float, n_users: int) -> InvalidArgumentError:
        """What all users cannot give; about these users themselves there is no such thing."""
        if self.kind != "detect":
            smallest = best / value if self.kind == "rel_error" else best
            return InvalidArgumentError(
                self.kind, self.size,
                f"at least {smallest:.2g}, the error for future users that {n_users:,} users leave",
                "take more users, or say " + option("population", "finite")
                + " for the metric of these alone",
            )  # fmt: skip
        smallest = best * self._certainty
        return InvalidArgumentError(
            self.kind, self.size,
            f"at least {smallest:.2g}, the smallest difference that {n_users:,} users can show "
            f"with {self.power:.0%} power",
            "take more users, or models that are more alike (" + option("correlation") + ")",
        )  # fmt: skip

    def __str__(self) -> str:
        if self.kind == "detect":
            return (
                f"a difference of {self.size:g} for future users, found with {self.power:.0%} "
                f"power at {1 - self.confidence:.0%}, correlation {self.correlation:g}"
            )
        whom = "future users" if self.population == "infinite" else "the users there are"
        if self.kind == "rel_error":
            return f"an error of {self.size:.3g} of the value, for {whom}"
        return f"an error of {self.size:g}, for {whom}"
