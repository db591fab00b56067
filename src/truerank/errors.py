"""Every error that truerank raises on purpose.

Each message is one sentence: what is wrong, what came, what to do. Advice that is written one way
in Python and another way on the command line is a :class:`Message`, which holds both. All errors
derive from :class:`TruerankError`, which the command line turns into exit code 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Message(str):
    """A text for Python whose ``cli`` says the same with the options of the command line.

    Texts are put together with ``+``, which keeps both forms; an f-string would keep the first.

    >>> advice = "keep the rows they share with " + option("align", "common")
    >>> advice, advice.cli
    ("keep the rows they share with align='common'", 'keep the rows they share with --align common')
    """

    cli: str

    def __new__(cls, python: str, cli: str | None = None) -> Message:
        text = super().__new__(cls, python)
        text.cli = for_cli(python) if cli is None else cli
        return text

    def __add__(self, other: str) -> Message:
        return Message(str(self) + str(other), self.cli + for_cli(other))

    def __radd__(self, other: str) -> Message:
        return Message(other + str(self), other + self.cli)

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # for copies
        return str(self), self.cli


def option(name: str, value: object = None) -> Message:
    """An argument as it is written in Python, and on the command line.

    >>> option("min_rating"), option("min_rating").cli, option("force", True).cli
    ('min_rating=', '--min-rating', '--force')
    """
    typed = f"--{name.replace('_', '-')}"
    if value is None:
        return Message(f"{name}=", typed)
    return Message(f"{name}={value!r}", typed if value is True else f"{typed} {value}")


def for_cli(text: str) -> str:
    """A text as the command line says it."""
    return text.cli if isinstance(text, Message) else str(text)


def joined(separator: str, texts: Iterable[str]) -> str:
    """``separator.join(texts)`` that keeps what they say on the command line."""
    texts = list(texts)
    return Message(separator.join(texts), separator.join(map(for_cli, texts)))


class TruerankError(Exception):
    """Base of every error raised on purpose; its message is meant for people."""

    @property
    def message(self) -> str:
        """The sentence, a :class:`Message` where the command line says it another way."""
        return self.args[0] if self.args and isinstance(self.args[0], str) else str(self)


class InvalidArgumentError(TruerankError, ValueError):
    """An argument has a value we cannot use.

    Attributes:
        argument: Its name.
        got: What came, as text.
        want: What is wanted.
        hint: What to do; may be empty.
    """

    def __init__(self, name: str, got: object, want: str, hint: str = "") -> None:
        self.argument, self.got, self.want, self.hint = name, _shown(got), want, hint
        message = f"{name} must be " + want + f", got {self.got}"
        super().__init__(message + "; " + hint if hint else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Rebuilt from its parts: an error crosses process borders unchanged.
        parts = {part: getattr(self, part) for part in ("argument", "got", "want", "hint")}
        return _rebuild, (type(self), self.message, parts)


class InvalidDataError(TruerankError, ValueError):
    """Data (interactions, ranks, scores) break a rule they must obey."""


class DataWarning(UserWarning):
    """Data were read with a guess, or without some of their rows: look whether that is right."""


class OldNameWarning(DeprecationWarning):
    """A name of the last release was used: it goes with the next one."""


class DatasetNotFoundError(TruerankError, FileNotFoundError):
    """A data set is neither here nor can it be fetched."""


class DownloadError(TruerankError, OSError):
    """A download failed; nothing half-written was kept."""


class FileFormatError(TruerankError, ValueError):
    """A file is not what it should be: damaged, foreign, or from a newer version."""


class StorageError(TruerankError, OSError):
    """A file could not be written or read: permission, space, or device."""


class MissingExtraError(TruerankError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"run: pip install 'truerank[{extra}]'"
        )


class NotFittedError(InvalidArgumentError, AttributeError):
    """A model was asked for what it will only have after ``fit``."""

    def __init__(self, model: str) -> None:
        super().__init__("model", f"an unfitted {model}", "fitted", "call fit(train) first")


class DivergedError(TruerankError, ArithmeticError):
    """Training diverged: the loss is NaN or infinite. The last good checkpoint is untouched."""


def _shown(got: object, most: int = 300) -> str:
    """What came, in at most this many characters; some values have no repr at all.

    >>> _shown("ab"), _shown(10**5_000), len(_shown("a" * 10**6))
    ("'ab'", 'a value of type int', 303)
    """
    try:
        text = repr(got)
    except Exception:  # noqa: BLE001 (too many digits, too many levels, or the object's own)
        return f"a value of type {type(got).__name__}"
    return text if len(text) <= most else f"{text[:most]}..."


def _rebuild(kind: type[TruerankError], message: str, parts: Mapping[str, str]) -> TruerankError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    for name, part in parts.items():
        setattr(error, name, part)
    return error
