"""Settings from a TOML file, for what would be typed again and again.

A table per verb, and above them what all verbs share that have such an option::

    data = "ml-1m"
    seed = 7

    [rank]
    design = "adaptive"

    [reproduce.accuracy]
    repeats = 5

Keys are the names of options, with ``-`` or ``_``. The command line wins over the verb's table,
which wins over the shared keys. ``truerank.toml`` in the current folder is read if it is there.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli.output import remark
from truerank.errors import FileFormatError, InvalidDataError
from truerank.files import readable_errors

USUAL_FILE = Path("truerank.toml")
_OURS = ("config", "help", "version", "install_completion", "show_completion")


def read_settings(context: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the defaults of everything below; called by the parser.

    The file that was read becomes the value of ``--config``.
    """
    if context.resilient_parsing:  # a shell asks for completions
        return path
    file = path
    if file is None:
        if context.parent is not None or not USUAL_FILE.is_file():
            return _read_above(context)
        file = USUAL_FILE
    content = _parsed(file)
    root: Any = context.find_root()
    _refuse_unknown(file, root.command, content, shared=True)
    settings = _defaults(root.command, content, {})
    names = context.command_path.split()[1:]
    for name in names:
        settings = settings.get(name, {})
    context.default_map = settings
    if path is None and content:
        remark(f"settings: {file}")
    return file


def _read_above(context: typer.Context) -> Path | None:
    """The file that the application read: a verb has its settings, and must not replace it."""
    read: Path | None = context.find_root().params.get("config")
    return read


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=read_settings,
        is_eager=True,
        show_default=False,
        metavar="FILE",
        help="TOML file of settings, a table per verb. Default: truerank.toml, if it is here.",
    ),
]


def _parsed(file: Path) -> dict[str, Any]:
    with readable_errors(file):
        content = file.read_bytes()
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise FileFormatError(
            f"{file} is nested too deeply for settings, which are tables of verbs and their "
            "options; correct it"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file} is not valid TOML: {error}; correct it") from None


def _refuse_unknown(
    file: Path, command: Any, content: dict[str, Any], *, shared: bool, table: str = ""
) -> None:
    """Every key must be a verb, or an option of its verb."""
    from truerank.checks import did_you_mean  # which needs numpy: --help does without

    verbs = getattr(command, "commands", {})
    known = _keys_below(command) if shared else _keys(command)
    for key, value in content.items():
        where = f"in [{table}] of {file}" if table else f"in {file}"
        if isinstance(value, dict):
            if key not in verbs:
                near = did_you_mean(key, verbs)
                raise InvalidDataError(
                    f"there is no command {f'{table} {key}'.strip()!r}, whose table is {where}"
                    + (f"; {near}" if near else "")
                )
            name = f"{table}.{key}" if table else key
            group = hasattr(verbs[key], "commands")
            _refuse_unknown(file, verbs[key], value, shared=group, table=name)
        elif _normal(key) not in known:
            shown = [name.replace("_", "-") for name in known]
            hint = did_you_mean(key, shown) or f"known: {', '.join(shown)}"
            raise InvalidDataError(f"there is no option {key!r} {where}; {hint}")


def _defaults(command: Any, content: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """What the parser takes as defaults: by parameter, nested by verb."""
    own = {_normal(key): value for key, value in content.items() if not isinstance(value, dict)}
    values = shared | own
    verbs = getattr(command, "commands", None)
    if verbs is not None:
        return {
            name: _defaults(verb, table if isinstance(table, dict) else {}, values)
            for name, verb in verbs.items()
            for table in (content.get(name),)  # "data" is a verb and an option
        }
    keys = _keys(command)
    return {
        keys[key].name: [value]
        if _takes_several(keys[key]) and not isinstance(value, list)
        else value
        for key, value in values.items()
        if key in keys
    }


def _keys(command: Any) -> dict[str, Any]:
    """Parameters of a verb by the names they may have in a file."""
    keys = {}
    for parameter in command.params:
        long = [name for name in parameter.opts if name.startswith("--")]
        name = _normal(long[0]) if long else parameter.name
        if name not in _OURS:
            keys[name] = parameter
    return keys


def _keys_below(command: Any) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for verb in getattr(command, "commands", {}).values():
        keys |= _keys_below(verb) if hasattr(verb, "commands") else _keys(verb)
    return keys


def _normal(key: str) -> str:
    return key.removeprefix("--").replace("-", "_")


def _takes_several(parameter: Any) -> bool:
    return bool(getattr(parameter, "multiple", False)) or parameter.nargs != 1
