"""Every error that truerank raises on purpose.

Each message is one sentence: what is wrong, what came, what to do. All of them
derive from :class:`TruerankError`, which the command line turns into exit code 2.
"""

from __future__ import annotations


class TruerankError(Exception):
    """Base of every error raised on purpose; its message is meant for people."""


class InvalidArgumentError(TruerankError, ValueError):
    """An argument has a value we cannot use."""

    def __init__(self, name: str, got: object, want: str, hint: str = "") -> None:
        message = f"{name} must be {want}, got {_shown(got)}"
        super().__init__(f"{message}; {hint}" if hint else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Rebuilt from its sentence: an error crosses process borders unchanged.
        return _rebuild, (type(self), str(self))


class InvalidDataError(TruerankError, ValueError):
    """Data (interactions, ranks, scores) break a rule they must obey."""


class DataWarning(UserWarning):
    """Data were read with a guess, or without some of their rows: look whether that is right."""


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
    """Training diverged: the loss is NaN or infinite; the last good checkpoint is untouched."""


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


def _rebuild(kind: type[TruerankError], message: str) -> TruerankError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error
