"""One world, all properties: what held, what was refused for a good reason, what broke."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from truerank.errors import TruerankError

from .properties import PROPERTIES, BrokenError, NothingToCheck
from .refusals import right_to_refuse
from .world import World

HELD, REFUSED, EMPTY, BROKEN = "held", "refused", "nothing to check", "BROKEN"


@dataclass
class Outcome:
    """What one property came to in one world."""

    status: str
    message: str = ""
    seconds: float = 0.0
    trace: str = ""


@dataclass
class Checked:
    """A world with the outcome of each property."""

    seed: int
    description: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def broken(self) -> dict[str, Outcome]:
        return {name: o for name, o in self.outcomes.items() if o.status == BROKEN}


def make_world(world: World) -> None:
    """Data, split, models and design can be made; a refusal here ends the world."""
    _ = world.split, world.model, world.rival, world.design, world.metrics


def check_world(
    seed: int,
    *,
    only: str | None = None,
    before: Callable[[str], None] = lambda name: None,
) -> Checked:
    """Run the properties of a world; ``before`` hears the name of each as it begins."""
    world = World(seed)
    result = Checked(seed)
    for name, check in {"make_world": make_world, **PROPERTIES}.items():
        if only is not None and name not in ("make_world", only):
            continue
        before(name)
        outcome = _outcome(world, check)
        if outcome.message in {o.message for o in result.outcomes.values() if o.message}:
            outcome = Outcome(EMPTY, seconds=outcome.seconds)  # it failed before it could check
        result.outcomes[name] = outcome
        if name == "make_world" and result.outcomes[name].status != HELD:
            break
    result.description = world.describe()
    return result


def _outcome(world: World, check: Callable[[World], None]) -> Outcome:
    start = time.monotonic()
    status, message, trace = HELD, "", ""
    try:
        with warnings.catch_warnings():
            # A warning of numpy is a number that went wrong without a word of ours.
            warnings.simplefilter("error", RuntimeWarning)
            check(world)
    except NothingToCheck:
        status = EMPTY
    except BrokenError as error:
        status, message, trace = BROKEN, str(error), traceback.format_exc()
    except TruerankError as error:
        right = right_to_refuse(world, error)
        status = REFUSED if right else BROKEN
        message = f"{type(error).__name__}: {error}"
        trace = "" if right else traceback.format_exc()
    except Exception as error:  # noqa: BLE001  # any other exception is what we look for
        status, message = BROKEN, f"{type(error).__name__}: {error}"
        trace = traceback.format_exc()
    return Outcome(status, message, time.monotonic() - start, trace)
