"""Links, file names, commands and names of code, in pages, help and docstrings, lead somewhere."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import (
    HISTORY,
    ROOT,
    SOURCE,
    anchors,
    lookup,
    lookup_suffix,
    pages,
    sources,
    text_of,
    without_code,
)

import truerank

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|bib|yml|cff|txt))`")
IN_PLACE = re.compile(r"(?<![\w/.-])((?:docs|tests|benchmarks)/[\w/.-]*[a-zA-Z0-9])(?![\w<{*])")
DOTTED = re.compile(r"`(truerank(?:\.\w+)+)(?:\([^`]*\))?`")
SHORT = re.compile(r"`(tr(?:\.\w+)+)(?:\([^`]*\))?`")
ROLE = re.compile(r":(?:mod|func|class|data|meth|attr|exc|obj):`~?([\w.]+)`")
OTHERS_FILES = {"run.txt", "qrels.txt", "benchmarks/Yelp18/MF_CCL_yelp18_x0"}
"""Files of a user, in examples, and of another repository."""
current = [page for page in pages() if ROOT / page != HISTORY]
every_page = pytest.mark.parametrize("page", current, ids=str)


def _exists(name: str, page: Path) -> bool:
    """From the repository, from the page, or from the package."""
    places = (ROOT, (ROOT / page).parent, SOURCE, SOURCE.parent)
    return name in OTHERS_FILES or any((place / name).exists() for place in places)


@pytest.mark.parametrize("page", pages(), ids=str)
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = text_of(page)
    lost = []
    for target in LINK.findall(without_code(text)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        if not there.exists() or (anchor and anchor not in anchors(there.read_text("utf-8"))):
            lost.append(target)
    assert not lost


@every_page
def test_files_named_in_a_page_exist(page: Path) -> None:
    text = without_code(text_of(page))
    named = FILE.findall(text) + IN_PLACE.findall(text)
    # A page that tells how to add something says which files are new, and may name them.
    told = text.splitlines() if page.parent.name == "contributing" else []
    new = {Path(name).name for line in told if "new" in line for name in FILE.findall(line)}
    assert not [name for name in named if not _exists(name, page) and Path(name).name not in new]


@every_page
def test_names_of_code_in_a_page_exist(page: Path) -> None:
    text = without_code(text_of(page))
    assert not [name for name in DOTTED.findall(text) if lookup(name) is None]
    short = [name.replace("tr.", "truerank.", 1) for name in SHORT.findall(text)]
    assert not [name for name in short if lookup(name) is None]


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", text_of(Path("Makefile")), flags=re.MULTILINE))
    lost = {
        (str(page), name)
        for page in current
        for name in re.findall(
            r"(?:`|^ {4})make ([a-z][\w-]*\w)(?![\w.-])", text_of(page), flags=re.MULTILINE
        )
        if name not in targets
    }
    assert not lost


def test_verbs_of_the_command_line_exist() -> None:
    import typer

    from truerank.cli.app import app

    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lost = {
        (str(page), verb)
        for page in current
        for verb in re.findall(r"(?:`|^ {4})truerank ([a-z]\w*)", text_of(page), flags=re.MULTILINE)
        if verb not in verbs and page.name != "add-a-verb.md"
    }
    assert not lost


@pytest.mark.parametrize("file", sources(), ids=str)
def test_files_named_in_code_exist(file: Path) -> None:
    """In docstrings, comments, help texts and error messages alike."""
    named = {name for name in IN_PLACE.findall(text_of(file)) if not name.endswith((".", "/"))}
    assert not [name for name in named if not _exists(name, file)]


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            doc := ast.get_docstring(node)
        ):
            yield doc


def _imported(tree: ast.Module) -> set[str]:
    """Also what is imported for the type checker alone."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in nodes for alias in node.names}


@pytest.mark.parametrize(
    "file", [f for f in sources() if f.is_relative_to("src") and ":`" in text_of(f)], ids=str
)
def test_roles_of_docstrings_resolve(file: Path) -> None:
    r""":mod:`...`, :func:`...`, :class:`...` name something that is there.

    In full; or as the module, one of its classes or the public face has it; or, after a dot, as
    the end of a name anywhere in the package.
    """
    tree = ast.parse(text_of(file))
    module = importlib.import_module(
        ".".join(file.with_suffix("").parts[1:]).removesuffix(".__init__")
    )
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    starts = [None, module, *classes, truerank, truerank.models]
    lost = set()
    for target in {name for doc in _docstrings(tree) for name in ROLE.findall(doc)}:
        if target.startswith("."):
            there = lookup_suffix(target[1:]) is not None
        else:
            there = any(lookup(target, start) is not None for start in starts)
        if not there and target not in _imported(tree):
            lost.add(target)
    assert not lost
