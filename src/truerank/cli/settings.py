"""``--set l2=500``: parameters of a model in words."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from truerank.cli.mistakes import suggestion
from truerank.errors import InvalidArgumentError


def parse_settings(
    words: list[str], known: dict[str, Any], model: str, counted: Container[str] = ()
) -> dict[str, Any]:
    """Parameters by name, read as the type of their usual values; ``counted`` flags also as counts.

    >>> parse_settings(["k=50", "similarity=jaccard"], {"k": 100, "similarity": "cosine"}, "knn")
    {'k': 50, 'similarity': 'jaccard'}
    >>> parse_settings(["temperature=0.1"], {"loss_params": None}, "mf")
    {'loss_params': {'temperature': 0.1}}
    >>> parse_settings(["shared=64"], {"shared": True}, "mf", counted={"shared"})
    {'shared': 64}
    """
    values: dict[str, Any] = {}
    of_loss: dict[str, Any] = {}
    if "loss_params" in known:  # which are given one by one
        from truerank.losses.parameters import PARAMETERS

        of_loss = dict.fromkeys(PARAMETERS, 1.0)
        known = {name: usual for name, usual in known.items() if name != "loss_params"} | of_loss
    for word in (part for text in words for part in text.replace(",", " ").split()):
        name, given, value = word.partition("=")
        if not given:
            raise InvalidArgumentError("--set", word, "written as name=value", "such as l2=500")
        if name not in known:
            may = f"{model} has {', '.join(known)}" if known else f"{model} has none"
            raise InvalidArgumentError(
                "--set", word, f"a parameter of {model}", may + suggestion(name, known)
            )
        if name in counted and value.isdecimal():
            values[name] = int(value)
        else:
            values[name] = _read(name, value, known[name])
    parameters = {name: values.pop(name) for name in of_loss if name in values}
    return values | ({"loss_params": parameters} if parameters else {})


def _read(name: str, text: str, usual: Any) -> Any:
    if text.lower() == "none":
        return None
    if isinstance(usual, bool):
        if text.lower() not in ("true", "false"):
            raise InvalidArgumentError(name, text, "true or false")
        return text.lower() == "true"
    if isinstance(usual, str):
        return text
    for kind in (int,) if isinstance(usual, int) else (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return float(number) if isinstance(usual, float) else number
    if usual is None:
        return text
    raise InvalidArgumentError(
        name, text, "a whole number" if isinstance(usual, int) else "a number"
    )
