"""The Python of the README and of docs/screening.md runs as it stands, and prints what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import text_of


def _examples(page: str) -> tuple[list[str], list[str]]:
    """Each block of Python of a page that says what it prints, and that."""
    found = re.findall(
        r"^```python\n(.*?)^```\n+prints\n\n((?: {4}.*\n)+)",
        text_of(Path(page)),
        flags=re.DOTALL | re.MULTILINE,
    )
    return [code for code, _ in found], [printed for _, printed in found]


@pytest.mark.parametrize("page", ["README.md", "docs/screening.md"])
def test_examples_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    codes, printed = _examples(page)
    assert codes
    for code, said in zip(codes, printed, strict=True):
        # One block a match: what stands between an earlier block and its output is not code.
        exec(compile(code.rpartition("```python\n")[2], page, "exec"), {})
        assert capsys.readouterr().out.split() == said.split()


def test_the_comparison_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```", text_of(Path("README.md")), re.DOTALL | re.MULTILINE
    )
    exec(compile("\n".join(blocks[:2]), "README.md", "exec"), {})
    assert "ease is better than knn" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()
