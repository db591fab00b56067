"""Defaults that adapt to small data, because nobody has asked for them.

What somebody asks for is done or refused. A default that small data cannot have is replaced by the
nearest that they can, and ``model.adapted`` says so after ``fit``. To tell the two apart, a default
of that kind is marked:

>>> is_adaptive(adaptive(64)), is_adaptive(64)
(True, False)
>>> adaptive(64) == 64, adaptive("ndcg@20") + "!"
(True, 'ndcg@20!')
"""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value", int, float, str)


class _Usual:
    """Marks the classes below; an instance of one is otherwise the number or the word."""

    __slots__ = ()


class _Int(int, _Usual):
    __slots__ = ()


class _Float(float, _Usual):
    __slots__ = ()


class _Str(str, _Usual):
    __slots__ = ()


def adaptive(value: Value) -> Value:
    """The value, marked as one that nobody has asked for."""
    if isinstance(value, str):
        return _Str(value)
    return _Int(value) if isinstance(value, int) else _Float(value)


def is_adaptive(value: object) -> bool:
    """Whether a setting is a default that may adapt."""
    return isinstance(value, _Usual)


def adaptation_note(name: str, taken: float | str, default: float | str, reason: str) -> str:
    """The sentence for ``model.adapted``.

    >>> adaptation_note("dim", 7, 50, "the rank of the data is no higher")
    'dim is 7 instead of the usual 50: the rank of the data is no higher'
    """
    return f"{name} is {_short(taken)} instead of the usual {_short(default)}: {reason}"


def _short(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
