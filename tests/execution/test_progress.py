"""The progress bar: seen by those who wait, and by nobody else."""

from __future__ import annotations

import pytest

from truerank.execution import Progress, progress


def run(capfd: pytest.CaptureFixture[str], steps: int = 3, *, enabled: bool | None) -> str:
    with Progress("ranking", total=steps, enabled=enabled) as bar:
        for _ in range(steps):
            bar.advance()
    assert bar.done == steps
    out, error = capfd.readouterr()
    assert out == ""  # results go there, not remarks
    return error


def test_quick_work_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, enabled=True) == ""


def test_slow_work_shows_a_bar(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich draws only where it believes in a terminal
    assert "ranking" in run(capfd, enabled=True)


@pytest.mark.parametrize("enabled", [False, None], ids=["switched-off", "no-terminal"])
def test_nobody_watches(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, enabled: bool | None
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    assert run(capfd, enabled=enabled) == ""


def test_the_bar_is_taken_away_when_work_fails(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    bar = Progress("ranking", total=9, enabled=True)

    def interrupted() -> None:
        with bar:
            bar.advance()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert bar._bar is not None
    assert bar._bar.finished is False
    assert not bar._bar.live.is_started


@pytest.mark.parametrize("seconds", [1.0, 31.0, 3600.0])
def test_the_time_left_is_told_however_slow_a_step_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    clock = [0.0]
    monkeypatch.setattr("rich.console.monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    with Progress("fitting", total=10, enabled=True) as bar:
        for _ in range(4):
            clock[0] += seconds
            bar.advance()
        assert bar._bar is not None
        assert bar._bar.tasks[0].time_remaining == 6 * seconds
    capfd.readouterr()
