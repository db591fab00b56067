"""Old names that keep working for one release, with a warning that says the new one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from types import FrameType
from typing import Any, TypeVar, cast

from truerank.errors import InvalidArgumentError, OldNameWarning

Renamed = TypeVar("Renamed", bound=Callable[..., Any])

OLD_NAMES = "__old_parameter_names__"
OLD_VALUES = "__old_parameter_values__"


def renamed_parameters(
    old_values: Mapping[str, Callable[[Any], Any]] | None = None, /, **new_of_old: str
) -> Callable[[Renamed], Renamed]:
    """Let a function, or a class when it is made, take parameters by their old names too.

    ``old_values`` has, by old name, what turns an old value into one of today.

    >>> @renamed_parameters(reg="l2")
    ... def penalty(l2=1.0):
    ...     return l2
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     penalty(reg=3.0)
    3.0
    >>> str(caught[0].message)
    "the parameter 'reg' of penalty is called 'l2' now; the old name goes with the next release"
    """
    translations = dict(old_values or {})

    def decorate(target: Renamed) -> Renamed:
        if isinstance(target, type):
            made = _translating(target.__init__, target.__name__, new_of_old, translations)  # type: ignore[misc]
            target.__init__ = made  # type: ignore[misc]
            for old, new in new_of_old.items():
                setattr(target, old, _old_attribute(target.__name__, old, new))
            setattr(target, OLD_NAMES, dict(getattr(target, OLD_NAMES, {})) | new_of_old)
            setattr(target, OLD_VALUES, dict(getattr(target, OLD_VALUES, {})) | translations)
            return target
        owner = target.__qualname__.rpartition("<locals>.")[2]
        return cast("Renamed", _translating(target, owner, new_of_old, translations))

    return decorate


def current_names(kind: Any, values: Mapping[str, Any], *, warn: bool = False) -> dict[str, Any]:
    """Parameters under the names they have now: what a file of the last release holds.

    Args:
        kind: The class whose parameters they are; one that has renamed none changes nothing.
        values: By name, old or new.
        warn: Say which names are old.
    """
    names: Mapping[str, str] = getattr(kind, OLD_NAMES, {})
    for old in names if warn else ():
        if old in values:
            old_name(f"the parameter {old!r} of {kind.__name__}", names[old])
    translations: Mapping[str, Callable[[Any], Any]] = getattr(kind, OLD_VALUES, {})
    return {
        names.get(name, name): translations.get(name, _as_it_is)(value)
        for name, value in values.items()
    }


def old_name(what: str, new: str) -> None:
    """Say that a name is old, where it is written: at the nearest line that is none of ours."""
    frame, level = sys._getframe(1), 2
    while _is_within(frame, "truerank", "importlib") and frame.f_back is not None:
        level += not _is_within(frame, "importlib")  # frames of imports are not counted
        frame = frame.f_back
    warnings.warn(
        f"{what} is called {new!r} now; the old name goes with the next release",
        OldNameWarning,
        stacklevel=level,
    )


def renamed_names(module: str, **new_of_old: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module some of whose names have new ones, there or elsewhere.

    Names elsewhere are written with their module, which is imported when the old name is used.

    >>> find = renamed_names("math", root="sqrt")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     find("root")(9.0)
    3.0
    >>> str(caught[0].message)
    "math.root is called 'sqrt' now; the old name goes with the next release"
    """

    def find(name: str) -> Any:
        if name not in new_of_old:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        old_name(f"{module}.{name}", new_of_old[name])
        home, _, new = new_of_old[name].rpartition(".")
        return getattr(import_module(home or module), new)

    return find


def _is_within(frame: FrameType, *packages: str) -> bool:
    """Whether a frame runs code of one of these packages, made by a dataclass too."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in packages


def _as_it_is(value: Any) -> Any:
    return value


def _translating(
    function: Any,
    owner: str,
    new_of_old: Mapping[str, str],
    translations: Mapping[str, Callable[[Any], Any]],
) -> Any:
    @wraps(function)
    def translated(*args: Any, **given: Any) -> Any:
        for old in [name for name in given if name in new_of_old]:
            new = new_of_old[old]
            if new in given:
                raise InvalidArgumentError(
                    new, given[new], f"given once: {old} is its old name", f"leave {old} out"
                )
            old_name(f"the parameter {old!r} of {owner}", new)
            given[new] = translations.get(old, _as_it_is)(given.pop(old))
        return function(*args, **given)

    return translated


def _old_attribute(owner: str, old: str, new: str) -> property:
    def read(self: Any) -> Any:
        old_name(f"the attribute {old!r} of {owner}", new)
        return getattr(self, new)

    def write(self: Any, value: Any) -> None:
        old_name(f"the attribute {old!r} of {owner}", new)
        setattr(self, new, value)

    return property(read, write)
