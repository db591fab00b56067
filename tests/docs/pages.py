"""The pages that readers see, and how the names written in them are looked up."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "truerank"
HISTORY = ROOT / "CHANGELOG.md"
"""Tells of files and names that are gone: its links must work, its names need not."""


def pages() -> list[Path]:
    """Every Markdown page, with paths relative to the repository."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")]
    return sorted(page.relative_to(ROOT) for page in found)


def sources() -> list[Path]:
    """Every Python file, with paths relative to the repository."""
    found = [
        file
        for folder in ("src", "tests", "benchmarks", "docs")
        for file in (ROOT / folder).rglob("*.py")
    ]
    return sorted(file.relative_to(ROOT) for file in found)


def text_of(file: Path) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def without_code(markdown: str) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", markdown, flags=re.DOTALL | re.MULTILINE)


def anchors(markdown: str) -> set[str]:
    """What a link may name after ``#``: the headings, in small letters, joined by hyphens."""
    headings = re.findall(r"^#+\s+(.*)$", without_code(markdown), flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def lookup(dotted: str, start: ModuleType | type | None = None) -> object | None:
    """The object of a dotted name, absolute or seen from ``start``; None where there is none."""
    if start is not None:
        found: object = start
        for part in dotted.split("."):
            fields = getattr(found, "__annotations__", {})
            found = getattr(found, part, fields.get(part))
            if found is None:
                return None
        return found
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        return lookup(".".join(parts[cut:]), module) if cut < len(parts) else module
    return None


def lookup_suffix(suffix: str) -> object | None:
    """What Sphinx makes of a leading dot: something below truerank whose name ends like this."""
    first = suffix.split(".", 1)[0]
    for file in SOURCE.rglob("*.py"):
        if file.stem != first and f" {first}" not in file.read_text(encoding="utf-8"):
            continue  # neither a module of this name nor one that could define it
        module = ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
        module = module.removesuffix(".__init__")
        for owner in filter(None, (module, module.rpartition(".")[0])):
            if found := lookup(f"{owner}.{suffix}"):
                return found
    return None
