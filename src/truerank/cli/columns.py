"""Columns of other people's files: named by them, or found by what they are usually called."""

from __future__ import annotations

import re
from pathlib import Path

from truerank.errors import InvalidDataError

_USUAL_NAMES = {
    "user": ("userid", "user", "uid", "useridx", "username", "customerid", "customer", "memberid",
             "member", "visitorid", "reviewerid", "readerid", "borrowerid", "patronid",
             "listenerid", "playerid", "accountid", "personid", "sessionid", "u"),
    "item": ("itemid", "item", "iid", "itemidx", "movieid", "productid", "articleid", "trackid",
             "songid", "artistid", "bookid", "isbn", "isbn13", "asin", "parentasin", "animeid",
             "gameid", "appid", "businessid", "recipeid", "filmid", "videoid", "newsid", "sku",
             "i"),
    "time": ("timestamp", "time", "datetime", "date", "ts", "unixtime", "unixreviewtime", "when",
             "eventtime", "createdat"),
    "weight": (),
    "rank": ("rank", "ranks", "r", "position"),
}  # fmt: skip
"""As :func:`plain_name` writes them; the first that is there is taken."""


class Columns:
    """The columns of a file, found by what they are usually called.

    Args:
        path: The file.
        names: What its columns are called.
        from_first_line: Whether these names are the first line of a text, which may be data.
    """

    def __init__(self, path: Path, names: list[str], *, from_first_line: bool) -> None:
        self.path, self.names, self.from_first_line = path, names, from_first_line

    def only(self, what: str) -> str:
        """The one column that there is, unless its name is a value of it."""
        (name,) = self.names
        if self.from_first_line and _is_number(name):
            raise InvalidDataError(
                f"{self.path} seems to have no header line, since it starts with {name}; "
                f"if so, say --no-header, else --{what}-column {name}"
            )
        return name

    def required(self, what: str, given: str | None) -> str:
        """The column that was named, or the one with a usual name, or a sentence."""
        column = self.optional(what, given)
        if column is None and self.from_first_line and any(_is_data(name) for name in self.names):
            raise InvalidDataError(
                f"{self.path} seems to have no header line, since it starts with "
                f"{_listed(self.names)}; if so, say --no-header and number its columns from 0, as "
                f"in --{what}-column {'1' if what == 'item' else '0'}"
            )
        if column is None:
            raise InvalidDataError(
                f"{self.path} has no column that is surely the {what}; its columns are "
                f"{_listed(self.names)}: say which with --{what}-column"
                + (", or --no-header if these are not names" if self.from_first_line else "")
            )
        return column

    def optional(self, what: str, given: str | None) -> str | None:
        """As :meth:`required`, but None if nobody named it and none is found, or for "none"."""
        if given is not None:
            if given == "none" and given not in self.names:
                return None
            if given not in self.names:
                from truerank.checks import nearest

                near = nearest(given, self.names, cutoff=0.4)
                raise InvalidDataError(
                    f"{self.path} has no column {given!r}; its columns are {_listed(self.names)}"
                    + (f": did you mean --{what}-column {near}?" if near else "")
                )
            return given
        from truerank.data.text.rating_columns import RATING_NAMES, plain_name

        plain_names = [plain_name(name) for name in self.names]
        for usual in RATING_NAMES if what == "rating" else _USUAL_NAMES[what]:
            if plain_names.count(usual) > 1:
                same = [n for n, p in zip(self.names, plain_names, strict=True) if p == usual]
                raise InvalidDataError(
                    f"{self.path} has columns {_listed(same)}, and each may be the {what}; say "
                    f"which with --{what}-column"
                )
            if usual in plain_names:
                return self.names[plain_names.index(usual)]
        return None


def _is_data(name: str) -> bool:
    """Whether a name is a number, as names seldom are but for those that we gave."""
    return _is_number(name) and len(name) > 1


def _is_number(name: str) -> bool:
    return re.fullmatch(r"[+-]?\d+([.,]\d+)?", name) is not None


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")
