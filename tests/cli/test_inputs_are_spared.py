"""No command replaces what it reads, whatever name leads there and whatever was forced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import Run


def same(path: Path, how: str) -> str:
    """Another name of a file."""
    if how == "path":
        return str(path)
    if how == "relative":
        return str(Path("..") / path.parent.name / path.name)
    other = path.with_name("other" + path.suffix)
    if how == "symlink":
        other.symlink_to(path)
    else:
        os.link(path, other)
    return str(other)


@pytest.mark.parametrize("how", ["path", "relative", "symlink", "hard link"])
@pytest.mark.parametrize("force", [["--force"], []])
def test_tables_data_and_models(
    how: str, force: list[str], run: Run, ratings: Path, exact: Path, sampled: Path, model: Path
) -> None:
    before = {path: path.read_bytes() for path in (ratings, exact, sampled, model)}
    for output, command in (
        (exact, ["compare", sampled, exact, "--n-boot", 100, "--html"]),
        (exact, ["reproduce", "cost-curve", "--ranks", exact, "--out"]),
        (ratings, ["fit", "--data", ratings, "--model", "popularity", "--out"]),
    ):
        target = same(output, how)
        if command[0] == "reproduce":  # wants the ending of a figure
            picture = Path(target).with_suffix(".png")
            picture.unlink(missing_ok=True)
            picture.symlink_to(output)
            target = str(picture)
        said = run(*command, target, *force).sentence
        assert f"the output must be another file than what is read, got {target!r}" in said
        assert "even --force does not replace an input" in said
        Path(output.with_name("other" + output.suffix)).unlink(missing_ok=True)
    assert {path: path.read_bytes() for path in before} == before


def test_data_that_only_the_model_names(run: Run, ratings: Path, tmp_path: Path) -> None:
    data = ratings.rename(tmp_path / "log.parquet.csv")
    assert run("fit", "--data", data, "--model", "popularity", "--out", "m.model").code == 0
    (tmp_path / "out.parquet").symlink_to(data)
    before = data.read_bytes()
    rank = ["rank", "--model", "m.model", "--out", "out.parquet", "--force"]
    assert "does not replace an input" in run(*rank).sentence
    assert "does not replace an input" in run(*rank, "--data", data).sentence
    (tmp_path / "out.parquet").unlink()
    (tmp_path / "out.parquet").symlink_to(tmp_path / "m.model")
    assert "the same file as m.model" in run(*rank).sentence
    assert data.read_bytes() == before


@pytest.mark.parametrize("where", ["above", "verb", "usual"])
def test_settings(where: str, run: Run, exact: Path, sampled: Path, tmp_path: Path) -> None:
    settings = tmp_path / ("truerank.toml" if where == "usual" else "mine.toml")
    settings.write_text("seed = 7\n")
    said = ["--config", settings] if where != "usual" else []
    compare = ["compare", sampled, exact, "--html", settings, "--force"]
    done = run(*said, *compare) if where == "above" else run(*compare, *said)
    assert done.code == 2
    assert "does not replace an input" in done.err
    assert settings.read_text() == "seed = 7\n"
