"""Remarks on cells become lettered notes: the same remark has the same letter."""

from __future__ import annotations


class NoteLetters:
    """Gives each distinct remark the next letter: a, b, ... z, aa, ab, ..."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def of(self, note: str) -> str:
        """The letter of a remark; no remark has no letter."""
        if not note:
            return ""
        return self._letters.setdefault(note, _letters(len(self._letters)))

    def notes(self) -> list[tuple[str, str]]:
        """All (letter, remark) in order."""
        return [(letter, note) for note, letter in self._letters.items()]


def _letters(number: int) -> str:
    number, last = divmod(number, 26)
    return (_letters(number - 1) if number else "") + chr(ord("a") + last)
