"""One grammar for designs, splits and models in words: ``"name key=value flag"``.

A name comes first, then settings in any order, divided by blanks or commas. A setting is
``key=value``, or its bare key where true is meant. ``none`` stands for no value; a list of numbers
and a text with blanks are written in brackets: ``"lrr l2=[10,30]"``. What is said twice counts as
it was said last.

>>> spec = parse("sampled n=100, replacement", "design", ["full", "sampled"],
...     lambda kind: {"n": WHOLE, "replacement": TRUE_OR_FALSE})
>>> spec.settings, str(spec)
({'n': 100, 'replacement': True}, 'sampled n=100 replacement')
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from truerank.checks import did_you_mean
from truerank.deprecation import OLD_NAMES, OLD_VALUES, old_name
from truerank.errors import InvalidArgumentError

_WORD = re.compile(r"(?:\[[^\]]*\]|[^\s,])+")
_NOTHING = ("none", "null")


@dataclass(frozen=True, slots=True)
class Setting:
    """What may stand after ``key=``.

    Attributes:
        read: The value of a text; ValueError if there is none.
        want: What is wanted, in words.
        flag: Whether the bare key means true.
        example: A value for the sentence that asks for it; None where it may be left out.
        new_name: What the setting is called now, if this is its old name.
    """

    read: Callable[[str], Any]
    want: str
    flag: bool = False
    example: str | None = None
    new_name: str | None = None


@dataclass(frozen=True)
class Spec:
    """What a text such as ``"ratio fraction=0.1"`` says.

    Attributes:
        kind: The name.
        settings: What was said about it, by key.
    """

    kind: str
    settings: dict[str, Any]

    def __str__(self) -> str:
        """The text: parsed, it is this again."""
        return write(self.kind, self.settings)


def parse(
    text: str,
    argument: str,
    kinds: Iterable[str],
    known: Callable[[str], Mapping[str, Setting]],
    example: str = "",
    old_kinds: Mapping[str, str] | None = None,
) -> Spec:
    """What the text says, or one sentence: what is wrong, what may be said, what was meant.

    Args:
        text: A name and its settings.
        argument: What the text is called in a sentence.
        kinds: The names there are.
        known: The settings of a name.
        example: For the sentence about a name that resembles none.
        old_kinds: What names of the last release are called now; they are taken with a warning.
    """
    kind, *words = _WORD.findall(text) or [""]
    kinds = list(kinds)
    if kind in (old_kinds or {}):
        old_name(f"the {argument} {kind!r}", (old_kinds or {})[kind])
        kind = (old_kinds or {})[kind]
    if kind not in kinds:
        hint = did_you_mean(kind, kinds) or (f"for instance {example!r}" if example else "")
        raise InvalidArgumentError(argument, text, f"one of {', '.join(kinds)}", hint)
    settings = known(kind)
    values: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        setting = settings.get(key)
        if setting is None or not (equals or setting.flag):
            near = did_you_mean(key, _current(settings)) if setting is None else f"write {key}=..."
            raise InvalidArgumentError(argument, text, f"{kind} with {_listed(settings)}", near)
        if setting.new_name is not None:
            old_name(f"the setting {key!r} of {kind}", setting.new_name)
        try:
            values[setting.new_name or key] = setting.read(value) if equals else True
        except ValueError:
            raise InvalidArgumentError(
                argument, text, f"written with {setting.want} after {key}="
            ) from None
    for key, setting in settings.items():
        if setting.example is not None and key not in values:
            raise InvalidArgumentError(
                argument, text, f"{kind} with {key}=...",
                f"for instance '{kind} {key}={setting.example}'",
            )  # fmt: skip
    return Spec(kind, values)


def write(kind: str, settings: Mapping[str, Any]) -> str:
    """The shortest text that says this.

    >>> write("slim", {"l1": 3.0, "nonnegative": True, "k": None})
    'slim l1=3 nonnegative k=none'
    """
    said = (key if value is True else f"{key}={_text(value)}" for key, value in settings.items())
    return " ".join((kind, *said))


def settings_of(kind: type[Any]) -> dict[str, Setting]:
    """The settings of a dataclass by the types of its fields; old names are taken with a warning.

    Fields that cannot be written as one word (mappings, designs) are left out.
    """
    settings = {
        f.name: setting
        for f in fields(kind)
        if f.init and (setting := setting_of(str(f.type), f.default)) is not None
    }
    for old, new in getattr(kind, OLD_NAMES, {}).items():
        if new in settings:
            now = settings[new]
            translate = getattr(kind, OLD_VALUES, {}).get(old)
            read = now.read if translate is None else _composed(translate, now.read)
            settings[old] = Setting(read, now.want, now.flag, new_name=new)
    return settings


def _composed(translate: Callable[[Any], Any], read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: translate(read(text))


def _current(settings: Mapping[str, Setting]) -> list[str]:
    return [key for key, setting in settings.items() if setting.new_name is None]


def _listed(settings: Mapping[str, Setting]) -> str:
    keys = [key if settings[key].flag else f"{key}=..." for key in _current(settings)]
    return ", ".join(keys) or "nothing else"


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool | list | tuple):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, float):  # 300 is shorter than 300.0, and as exact
        short = f"{value:g}"
        return short if float(short) == value else repr(float(value))
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f"[{text}]" if re.search(r"[\s,]", text) else text


# ------------------------------------------------------------------ types of values


def _word(text: str) -> str:
    return text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text


def _true_or_false(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


def _numbers(text: str) -> list[float]:
    values = json.loads(text)
    if not isinstance(values, list):
        raise ValueError  # what a text can be wrong with
    return [float(value) for value in values]


def _moment(text: str) -> int | datetime:
    return int(text) if re.fullmatch(r"\d{5,}", text) else datetime.fromisoformat(text)


WHOLE = Setting(int, "a whole number")
NUMBER = Setting(float, "a number")
TEXT = Setting(_word, "a word")
TRUE_OR_FALSE = Setting(_true_or_false, "true or false", flag=True)
NUMBERS = Setting(_numbers, "numbers in brackets")
MOMENT = Setting(_moment, "a time or a date such as 2000-12-31")
_BY_TYPE = {"bool": TRUE_OR_FALSE, "int": WHOLE, "float": NUMBER, "str": TEXT}


def setting_of(annotation: str, default: Any = None) -> Setting | None:
    """The setting of a field: the first of its types that can read a text does; None if none can.

    >>> setting_of("float | None").read("0.5"), setting_of("dict[str, float]")
    (0.5, None)
    """
    members = annotation.split(" | ")
    types = [_BY_TYPE[member] for member in members if member in _BY_TYPE]
    types += [NUMBERS for member in members if member in ("list[float]", "Sequence[float]")]
    if not types and isinstance(default, str):  # one of several words
        types = [TEXT]
    if not types:
        return None
    wants = [one.want for one in types] + ["none"] * ("None" in members)

    def read(text: str) -> Any:
        if "None" in members and text.lower() in _NOTHING:
            return None
        for one in types:
            try:
                return one.read(text)
            except ValueError:
                continue
        raise ValueError

    return Setting(read, " or ".join(wants), flag=TRUE_OR_FALSE in types)
