"""Models in words, ``"ease l2=500"``, and from files; and whether they fit the data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli.inputs import expect
from truerank.cli.output import remark
from truerank.cli.settings import parse_settings
from truerank.errors import InvalidDataError

if TYPE_CHECKING:
    from truerank.cli.source import Source
    from truerank.data import Interactions
    from truerank.split import Split

_LONG = 100  # letters of a name, which becomes part of a file's


@dataclass(frozen=True, slots=True)
class ModelWords:
    """A model that is not fitted yet.

    Attributes:
        kind: Its name.
        settings: Parameters that were given.
    """

    kind: str
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """What to call it in tables and files; a very long name ends in a digest of itself.

        >>> ModelWords("ease", {"l2": 500.0}).name
        'ease-l2-500'
        >>> ModelWords("mf", {"dim": 8, "loss_params": {"temperature": 0.2}}).name
        'mf-dim-8-temperature-0.2'
        """
        parts = [f"{name}-{_short(value)}" for name, value in _flat(self.settings).items()]
        name = "-".join((self.kind, *parts))
        if len(name) <= _LONG:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        return f"{name[: _LONG - 9]}-{digest}"

    def __str__(self) -> str:
        from truerank.models.names import model_class, parameters_of

        values = _flat(parameters_of(model_class(self.kind)) | self.settings)
        said = ", ".join(f"{name} = {_short(value)}" for name, value in values.items())
        return f"{self.kind} ({said})" if said else self.kind

    def fit(self, train: Interactions) -> Any:
        """The fitted model; the model itself refuses what does not fit into memory.

        Which defaults gave way to small data is said on standard error.
        """
        from truerank.models.names import model_class

        fitted = model_class(self.kind)(**self.settings).fit(train)
        for sentence in fitted.adapted:
            remark(f"{self.name}: {sentence}")
        return fitted


def parse_model(text: str, more: list[str] | None = None) -> ModelWords:
    """The model that the words describe; ``more`` are settings said elsewhere.

    >>> parse_model("item-knn k=50", ["shrink=2"])
    ModelWords(kind='item-knn', settings={'k': 50, 'shrink': 2.0})
    """
    from truerank.models.names import counted_flags, model_class, parameters_of

    kind, *words = text.replace(",", " ").split() or [""]
    made = model_class(kind)
    settings = parse_settings(
        [*words, *(more or [])], parameters_of(made), kind, counted=counted_flags(made)
    )
    return ModelWords(kind, settings)


def is_model_file(text: str) -> bool:
    """Whether a text names a file rather than a model."""
    path = Path(text)
    try:
        there = path.is_file()
    except OSError:  # a text that is too long for a name
        there = False
    return there or path.name != text or (bool(path.suffix) and "=" not in text)


def read_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """A model of a file, and how it was made."""
    from truerank.models.saving import load, read_header

    expect(path, "model")
    made_by: dict[str, Any] = read_header(path)["made_by"]
    return load(path), made_by


def check_fits(model: Any, path: Path, split: Split, source: Source) -> None:
    """A model must have been fitted on the training part of this very split."""
    from truerank.ranking.checks import fits_split, fitted_on

    if fits_split(model, split):
        return
    everything = source.interactions.fingerprint
    if split.description["name"] != "published" and fitted_on(model) == everything():
        raise InvalidDataError(
            f"{path} was fitted on all of {source.data}, held-out items included, so its ranks "
            f"would be too good; fit it with --split {source.split.split()[0]}"
        )
    raise InvalidDataError(
        f"{path} was fitted on other data, or on another split, than {source.data} split by "
        f"{source.split!r}; give both commands the same --data and --split"
    )


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they were said: parameters of a loss one by one."""
    return {k: v for k, v in settings.items() if k != "loss_params"} | (
        settings.get("loss_params") or {}
    )


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
