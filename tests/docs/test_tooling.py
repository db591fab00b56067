"""The files that other programs read: workflows, hooks, templates, the citation, the slow tests."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT, text_of

yaml = pytest.importorskip("yaml")

WORKFLOWS = sorted(p.relative_to(ROOT) for p in (ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", text_of(Path("Makefile")), flags=re.MULTILINE))


def _read(file: Path) -> Any:
    return yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=str)
def test_workflows_call_what_is_there(file: Path) -> None:
    jobs = _read(file)["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert len(commands) >= len(jobs)
    for command in commands:
        program, target = command.split()
        assert program == "make", "what runs there must be runnable here"
        assert target in TARGETS


def test_the_oldest_python_is_tested_and_is_the_one_promised() -> None:
    versions = _read(WORKFLOWS[0])["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads(text_of(Path("pyproject.toml")))["project"]
    assert project["requires-python"] == f">={versions[0]}"
    assert all(isinstance(version, str) for version in versions), "3.10 without quotes is 3.1"


def test_hooks_are_our_own_tools() -> None:
    repositories = _read(Path(".pre-commit-config.yaml"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    linted = text_of(Path("Makefile")).replace("$(BIN)", ".venv/bin").replace(" --check", "")
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].removesuffix(" --fix") in linted
        re.compile(hook.get("files", ""))


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_issue_templates_have_what_they_need(file: Path) -> None:
    template = _read(file)
    if file.stem == "config":
        return
    assert {"name", "description", "body"} <= set(template)
    asked = [part for part in template["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked)
    assert all(part["attributes"]["label"] for part in asked)


def test_the_citation_agrees_with_the_package() -> None:
    citation = _read(Path("CITATION.cff"))
    project = tomllib.loads(text_of(Path("pyproject.toml")))["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["authors"] == project["authors"]
    assert citation["keywords"] == project["keywords"]
    title = citation["references"][0]["title"]
    assert title in " ".join(text_of(Path("README.md")).split())


def test_every_slow_test_is_there() -> None:
    """A list that names a test that is gone hides that the new one is slow."""
    lines = text_of(Path("tests/slow_tests.txt")).splitlines()
    names = [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]
    assert names
    assert names == sorted(set(names))
    for name in names:
        file, _, rest = name.partition("::")
        assert (ROOT / file).exists(), name
        if rest:
            assert f"def {rest.split('[')[0]}(" in text_of(Path(file)), name


def test_check_leaves_out_the_slow_ones_only() -> None:
    def collected(*options: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "tests/execution", *options],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return {line for line in done.stdout.splitlines() if "::" in line}

    every = collected()
    left_out = every - collected("-m", "not slow")
    names = [line for line in text_of(Path("tests/slow_tests.txt")).splitlines() if "::" in line]
    assert {test.partition("[")[0] for test in left_out} == {
        name for name in names if name.startswith("tests/execution/")
    }
    assert 0 < len(left_out) < len(every)
