"""What every verb has in common: help with examples, completion, exit codes, quick starts."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from truerank.cli import app as application
from truerank.cli import compare, doctor, estimate, fit, plan, rank
from truerank.cli.output import print_json, print_table

from .conftest import Run

VERBS = ("demo", "data", "fit", "rank", "estimate", "compare", "plan", "reproduce", "doctor")
EXAMPLES = [line for verb in (fit, rank, estimate, compare, plan, doctor) for line in verb.EXAMPLES]


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, run: Run) -> None:
    done = run(verb, "--help")
    assert done.code == 0
    assert f"truerank {verb}" in done.out
    if verb not in ("data", "reproduce"):  # their own verbs have them
        assert "Example" in done.out


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_is_understood(line: str, run: Run) -> None:
    """Parsed as the shell would give it; nothing runs."""
    words = shlex.split(line.split(" > ")[0])[1:]
    group = typer.main.get_command(application.app)
    command = group.commands[words[0]]  # type: ignore[attr-defined]
    command.make_context(words[0], words[1:])


def test_no_arguments_are_a_question_for_help(run: Run) -> None:
    done = run()
    assert done.code == 0
    assert all(verb in done.out for verb in VERBS)


def fresh(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_help_loads_nothing_heavy() -> None:
    done = fresh(
        "import sys; sys.argv = ['truerank', '--help']\n"
        "from truerank.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'pyarrow', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("then", ["pass", "raise RuntimeError('no compiled object yet')"])
def test_ctrl_c_is_130_and_one_sentence(then: str) -> None:
    """Even where a library answers it with an error of its own, as numba does."""
    done = fresh(
        "import os, signal, time\n"
        "import truerank.cli.doctor as doctor\n"
        "from truerank.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # not in the background
        "def wait():\n"
        "    try: os.kill(os.getpid(), signal.SIGINT); time.sleep(30)\n"
        f"    finally: {then}\n"
        "doctor.examine = wait\n"
        "main(['doctor'])"
    )
    assert done.returncode == 130
    assert done.stderr == "truerank: interrupted; nothing half-written was left\n"


def test_a_mistake_in_a_process_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "truerank", "estimate", "no.parquet"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "truerank: there is no file no.parquet; check the name\n"


def test_completion_of_verbs_options_and_names(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def complete(*words: str) -> list[str]:
        """What bash is offered after these words."""
        monkeypatch.setenv("_TRUERANK_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("truerank", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        done = run()
        assert done.code == 0, done
        return done.out.split()

    assert complete("esti") == ["estimate"]
    assert "--split" in complete("fit", "--s")
    assert complete("fit", "--model", "it") == ["item-knn"]
    assert "ml-1m" in complete("fit", "--data", "ml-1")
    assert "mle" in complete("estimate", "--method", "ml")


def test_completion_can_be_installed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("--help")
    assert "--install-completion" in done.out
    assert "--show-completion" in done.out
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "True")
    shown = run("--show-completion", "bash")
    assert "_TRUERANK_COMPLETE=complete_bash" in shown.out


def test_a_table_in_a_pipe_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("model", "value"), [("a", "1.5"), ("long name", "10.25")])
    assert capsys.readouterr().out == (
        "model      value\n"
        "---------  -----\n"
        "a            1.5\n"
        "long name  10.25\n"
    )  # fmt: skip


class Terminal:
    """A terminal that remembers what was written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_colour", [False, True])
def test_colours_on_a_terminal_unless_unwanted(
    no_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    print_table(("model", "value"), [("[red]a", "1.5")])
    assert "[red]a" in screen.text  # a name is never markup
    assert ("\x1b[1" in screen.text) is True  # bold heads are no colour
    assert not any(f"\x1b[{colour}m" in screen.text for colour in range(30, 38))


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": ("é",)})
    assert capsys.readouterr().out.split() == [
        "{", '"a":', "null,", '"b":', "[", "null,", "1.5", "],", '"c":', "[", '"é"', "]", "}",
    ]  # fmt: skip


def test_doctor_says_what_is_there(run: Run, tmp_path: Path) -> None:
    found = run("doctor", "--json").json
    assert found["parts"]["numpy"]
    assert found["cores"]["usable"] >= 1
    assert {pool["library"] for pool in found["threads"]}
    assert found["data"]["cache"] == str(tmp_path / "cache")
    assert set(found["extras"]) == {"torch", "tune", "frames", "bench"}
    for extra in found["extras"].values():
        assert bool(extra["missing"]) == (extra["install"] is not None)
    text = run("doctor").out
    assert "numba cache" in text
    assert "data cache" in text


def test_doctor_says_what_is_wrong(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no problems found" in run("doctor").out
    monkeypatch.setenv("TRUERANK_DATA", "/nowhere/at/all")
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "inside"))
    done = run("doctor")
    assert done.code == 0  # to be told is no mistake
    assert "TRUERANK_DATA must be a folder that exists" in done.out
    assert "set NUMBA_CACHE_DIR to a folder you may write to" in done.out
    monkeypatch.setattr("truerank.execution.available_cores", lambda: 0)
    assert "which slows it down" in run("doctor").out
