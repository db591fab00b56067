"""Columns of other people's files: named by them, or found by what they are usually called."""

from __future__ import annotations

import difflib
from pathlib import Path

from truerank.errors import InvalidDataError

_USUAL_NAMES = {
    "user": ("user_id", "user", "userid", "uid", "user_idx", "customer_id", "member_id",
             "visitorid", "reviewerid", "session_id", "u"),
    "item": ("item_id", "item", "itemid", "iid", "item_idx", "movie_id", "movieid", "product_id",
             "productid", "article_id", "track_id", "song_id", "book_id", "asin", "i"),
    "time": ("timestamp", "time", "datetime", "date", "ts", "unix_time", "when"),
    "weight": (),
    "rank": ("rank", "ranks", "r", "position"),
}  # fmt: skip


class Columns:
    """The columns of a file, found by what they are usually called."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self.path, self.names = path, names

    def required(self, what: str, given: str | None) -> str:
        """The column that was named, or the one with a usual name, or a sentence."""
        column = self.optional(what, given)
        if column is None:
            raise InvalidDataError(
                f"{self.path} has no column that is surely the {what}; its columns are "
                f"{_listed(self.names)}: say which with --{what}-column"
            )
        return column

    def optional(self, what: str, given: str | None) -> str | None:
        """As :meth:`required`, but None if nobody named it and none is found."""
        if given is not None:
            if given not in self.names:
                near = difflib.get_close_matches(given, self.names, n=1, cutoff=0.4)
                raise InvalidDataError(
                    f"{self.path} has no column {given!r}; its columns are {_listed(self.names)}"
                    + (f": did you mean --{what}-column {near[0]}?" if near else "")
                )
            return given
        for usual in _USUAL_NAMES[what]:
            for name in self.names:
                if name.lower() == usual:
                    return name
        return None


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")
