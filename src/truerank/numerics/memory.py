"""Is there room? Asked before a model allocates, not after the machine has stopped answering."""

from __future__ import annotations

from pathlib import Path

from truerank.errors import InvalidDataError

GIGABYTE = 10**9


def check_room(needed_bytes: int, what: str, instead: str) -> None:
    """Refuse what cannot fit, before it is allocated.

    Args:
        needed_bytes: The most that will be held at once, beyond what is held now.
        what: What needs it, such as ``"EASE on 41,000 items"``.
        instead: What would fit, as the last part of a sentence.

    Raises:
        InvalidDataError: If the system says that less is free. A system that does not say
            (no ``/proc/meminfo``) is believed to have room.
    """
    free = free_bytes()
    if free is not None and needed_bytes > free:
        raise InvalidDataError(
            f"{what} needs {needed_bytes / GIGABYTE:,.1f} GB of memory and "
            f"{free / GIGABYTE:,.1f} GB are free; {instead}"
        )


def most_that_fit(bytes_each: int, most: int) -> int:
    """How many things of this size there is room for now, up to ``most``."""
    free = free_bytes()
    return most if free is None else min(most, free // bytes_each)


def free_bytes(root: Path = Path("/")) -> int | None:
    """Memory that a process may still take: of the machine, and of its control group."""
    limits = [_available(root / "proc/meminfo"), _left_in_group(root / "sys/fs/cgroup")]
    known = [limit for limit in limits if limit is not None]
    return min(known, default=None)


def _available(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def _left_in_group(group: Path) -> int | None:
    """Of a container: its limit less what it holds; pages of files are given back on demand."""
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        held = (group / "memory.stat").read_text().split()
    except (OSError, ValueError):
        return None
    if limit == "max":
        return None
    stat = dict(zip(held[::2], held[1::2], strict=False))
    return max(0, int(limit) - used + int(stat.get("inactive_file", 0)))
