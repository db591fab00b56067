"""What we know about a data set: its files, its terms, and how to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from truerank.data.input_columns import DuplicateRule
from truerank.data.registry.archives import Arrays

Parser = Callable[[Sequence[Path]], Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """One file to fetch: its name here, where it may be had, and what it should be.

    Attributes:
        file: Name in the folder of the data set.
        urls: Addresses, tried in this order.
        md5: Published checksum in hex, or None.
        sha256: Published checksum in hex, or None.
        size: Published number of bytes, or None.
    """

    file: str
    urls: tuple[str, ...]
    md5: str | None = None
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What we know about one data set.

    Attributes:
        name: What :func:`load_dataset` calls it; also its folder and its npz file.
        title: One line for a table.
        licence: One sentence on its terms, shown before the first download.
        citation: Whom to cite.
        origin: Page or repository to look at when no source answers.
        raw_files: The raw files, in the order the parser takes them; none for a set that exists
            as an npz file only.
        parser: Reads the raw files; None where there are none.
        by_hand: Other names under which the same content may be put in the folder, each a tuple
            of files in the parser's order.
        fixed_split: Whether train and test were published apart.
        default_part: The part taken when none is named, for sets with parts.
        duplicates: What a repeated (user, item) pair means in this set; ``"error"`` where the
            published files have none, so that one would be a sign of damage.
        shape: Users, items and interactions as published; rows of the default part.
        aliases: Other names for it.
    """

    name: str
    title: str
    licence: str
    citation: str
    origin: str
    raw_files: tuple[RawFile, ...] = ()
    parser: Parser | None = None
    by_hand: tuple[tuple[str, ...], ...] = ()
    fixed_split: bool = False
    default_part: str | None = None
    duplicates: DuplicateRule = "error"
    shape: tuple[int, int, int] | None = None
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, then its aliases."""
        return (self.name, *self.aliases)
