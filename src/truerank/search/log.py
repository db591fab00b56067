"""The log of a search: one JSON line per trial, and the rank tables of the best beside it.

The first line says which search it is; each later line is a finished trial, written in one piece
when its table is safe. A killed search leaves at most half a line, which is dropped when the
search goes on.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank.errors import FileFormatError, InvalidDataError, TruerankError
from truerank.files import check_target, readable_errors, written_whole
from truerank.ranking import RankTable
from truerank.search.trial import Trial

FORMAT = 1
"""Version of the file; a reader refuses others."""

WHAT_DIFFERS = {"data": "data set", "n_trials": "number of trials"}


@dataclass(frozen=True, slots=True)
class SearchLog:
    """A log on disk.

    Attributes:
        path: The file of lines.
        identity: What makes it the log of this search and no other.
    """

    path: Path
    identity: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Where the tables are."""
        return self.path.with_name(self.path.name + ".tables")

    def read(self) -> list[Trial]:
        """Trials that are done; the first line is written if there is none yet.

        Raises:
            InvalidDataError: If the log is of another search.
            FileFormatError: If the file is not a log.
        """
        with readable_errors(self.path):
            check_target(self.path)
            content = self.path.read_bytes() if self.path.exists() else b""
        whole, newline, rest = content.rpartition(b"\n")
        lines = whole.split(b"\n") if newline else []
        if not lines and not (rest == b"" or rest.startswith(b'{"truerank_search"')):
            raise self._no_log()
        if rest or not lines:
            lines = lines or [self._first_line()]
            with written_whole(self.path) as temporary:
                temporary.write_bytes(b"\n".join(lines) + b"\n")
        self._check(self._parsed(lines[0]))
        trials = [Trial.from_dict(self._parsed(line)) for line in lines[1:]]
        if [trial.number for trial in trials] != list(range(len(trials))):
            raise self._no_log()
        return trials

    def append(self, trial: Trial) -> None:
        """Add a trial: one write of one whole line, on disk before this returns."""
        line = json.dumps(trial.to_dict(), allow_nan=False).encode() + b"\n"
        with readable_errors(self.path), check_target(self.path).open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def save_table(self, number: int, table: RankTable) -> None:
        """Keep a trial's table; before its line is written."""
        with readable_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
        table.to_parquet(self._table(number))

    def load_table(self, number: int) -> RankTable | None:
        """A trial's table; None where it is gone or damaged, and must be made again."""
        try:
            return RankTable.from_parquet(self._table(number))
        except TruerankError:
            return None

    def drop_table(self, number: int) -> None:
        """A trial's table is needed no more."""
        with suppress(OSError):
            self._table(number).unlink(missing_ok=True)

    def _table(self, number: int) -> Path:
        return self.folder / f"trial-{number:05d}.parquet"

    def _first_line(self) -> bytes:
        return json.dumps({"truerank_search": FORMAT, **self.identity}).encode()

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            values = json.loads(line)
        except ValueError:
            raise self._no_log() from None
        if not isinstance(values, dict):
            raise self._no_log()
        return values

    def _check(self, found: dict[str, Any]) -> None:
        if "truerank_search" not in found:
            raise self._no_log()
        if found.pop("truerank_search") != FORMAT:
            raise FileFormatError(
                f"{self.path} was written by another version of truerank; resume with that one, "
                "or choose another log"
            )
        mine = json.loads(json.dumps(self.identity))
        different = [n for n in {**mine, **found} if mine.get(n) != found.get(n)]
        if different:
            names = ", ".join(WHAT_DIFFERS.get(name, name) for name in different)
            raise InvalidDataError(
                f"{self.path} is the log of another search: it differs in {names}; choose another "
                "file, or ask for the same search to go on"
            )

    def _no_log(self) -> FileFormatError:
        return FileFormatError(
            f"{self.path} is not the log of a search, or it is damaged; choose another file"
        )
