"""Models in words, ``"ease l2=500"``, and from files; and whether they fit the data."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli.inputs import expect, noted
from truerank.cli.output import remark
from truerank.errors import InvalidDataError
from truerank.spec import Setting, Spec, parse, settings_of, write

if TYPE_CHECKING:
    from truerank.cli.source import Source
    from truerank.data import Interactions
    from truerank.split import Split

_LONG = 100  # letters of a name, which becomes part of a file's


class ModelSpec(Spec):
    """A model that is not fitted yet."""

    @property
    def name(self) -> str:
        """What to call it in tables and files; a very long name ends in a digest of itself.

        >>> ModelSpec("ease", {"l2": 500.0}).name
        'ease-l2-500'
        >>> ModelSpec("mf", {"dim": 8, "loss_params": {"temperature": 0.2}}).name
        'mf-dim-8-temperature-0.2'
        """
        parts = [f"{name}-{_short(value)}" for name, value in _flat(self.settings).items()]
        name = "-".join((self.kind, *parts))
        if len(name) <= _LONG:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        return f"{name[: _LONG - 9]}-{digest}"

    def __str__(self) -> str:
        """The text: parsed, it is this again."""
        return write(self.kind, _flat(self.settings))

    @property
    def described(self) -> str:
        """The model with all its parameters, for people."""
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


def parse_model(text: str, more: list[str] | None = None) -> ModelSpec:
    """The model that the words describe; ``more`` are settings said elsewhere.

    >>> parse_model("item-knn k=50", ["shrink=2"])
    ModelSpec(kind='item-knn', settings={'k': 50, 'shrink': 2.0})
    >>> parse_model("mf temperature=0.1").settings
    {'loss_params': {'temperature': 0.1}}
    """
    from truerank.models.names import MODELS, OLD_MODELS

    with noted():
        spec = parse(
            " ".join([text, *(more or [])]), "model", MODELS, _settings, "ease l2=500", OLD_MODELS
        )
    of_loss = {k: v for k, v in spec.settings.items() if k in _of_loss(spec.kind)}
    settings = {k: v for k, v in spec.settings.items() if k not in of_loss}
    return ModelSpec(spec.kind, settings | ({"loss_params": of_loss} if of_loss else {}))


def _settings(kind: str) -> dict[str, Setting]:
    """What may be said about a model: its parameters, and those of its loss one by one."""
    from truerank.models.names import model_class

    number = Setting(lambda text: None if text == "none" else float(text), "a number")
    return settings_of(model_class(kind)) | dict.fromkeys(_of_loss(kind), number)


def _of_loss(kind: str) -> tuple[str, ...]:
    """Parameters of losses, if this model has a loss."""
    from truerank.losses.parameters import PARAMETERS
    from truerank.models.names import model_class, parameters_of

    return PARAMETERS if "loss_params" in parameters_of(model_class(kind)) else ()


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
    from truerank.ranking.request_checks import fits_split, fitted_on

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
