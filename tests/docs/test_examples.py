"""The Python of the README and of docs/screening.md runs as it stands, and prints what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import text_of

PYTHON = re.compile(r"^```python\n((?:(?!```).*\n)*)```\n", flags=re.MULTILINE)
PRINTS = re.compile(r"\s*prints\n\n((?: {4}.*\n)+)")


def _blocks(page: str) -> list[tuple[str, str | None]]:
    """Each block of Python of a page, and what the page says it prints, if it says."""
    text = text_of(Path(page))
    found = [(block[1], PRINTS.match(text, block.end())) for block in PYTHON.finditer(text)]
    return [(code, None if printed is None else printed[1]) for code, printed in found]


@pytest.mark.parametrize("page", ["README.md", "docs/screening.md"])
def test_examples_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    telling = [(code, printed) for code, printed in _blocks(page) if printed]
    assert telling
    for code, printed in telling:
        exec(compile(code, page, "exec"), {})
        assert capsys.readouterr().out.split() == printed.split()


def test_the_comparison_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [code for code, _ in _blocks("README.md")]
    exec(compile("\n".join(codes[:2]), "README.md", "exec"), {})
    assert "ease is better than knn" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()
