"""An estimate in words: what is known first, then the number, and whose metric it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truerank.estimators.population import Population
    from truerank.estimators.result import Estimate

MARK = "†"
"""After a number that is an extrapolation."""

MARK_NOTE = (
    f"{MARK} extrapolated: the samples alone tell no more than the range before the number; the "
    "number rests on the assumption that ranks are spread smoothly (or, where it is naive, that a "
    "sample is the catalogue)."
)

CERTIFIED = "certified by the screen"
"""How the note of a metric begins of which a screen's exact ranks leave nothing open."""


def whose(population: Population, n_population: int | None) -> str:
    """The users that a metric is about.

    >>> whose("infinite", None), whose("finite", 2946)
    ('future users', 'these 2,946 users')
    """
    return "future users" if population == "infinite" else f"these {n_population or 0:,} users"


def from_whom(population: Population, n_population: int | None, n_users: int) -> str:
    """The users that it was estimated from.

    >>> from_whom("infinite", None, 1500), from_whom("finite", 2946, 1500)
    ('1,500 users', '1,500 of them')
    """
    if population == "infinite":
        return f"{n_users:,} user{'s' if n_users != 1 else ''}"
    return "all of them" if n_users == n_population else f"{n_users:,} of them"


def estimate_text(e: Estimate) -> str:
    """One line about one estimate.

    The range that the samples alone allow comes first where they are blind; the interval is left
    out there, since it knows how users vary and not what was never seen.
    """
    about = whose(e.population, e.n_population)
    source = from_whom(e.population, e.n_population, e.n_users)
    note = "; suspicious, see its notes" if e.diagnostics.suspicious else ""
    if e.known:
        return f"{e.metric} {e.value:.4f} known exactly for {about} (every rank exact{note})"
    resampled = e.std_error == e.std_error
    error = f" ± {e.std_error:.4f}" if resampled else ""
    bounds = e.diagnostics.bounds
    if e.diagnostics.blind and bounds is not None:
        kind = "naive" if e.method == "naive" else "extrapolated"
        return (
            f"{e.metric} between {short_number(bounds[0])} and {short_number(bounds[1])} from the "
            f"samples alone; {kind} {e.value:.4f}{error} for {about} ({e.method}, from {source}"
            f"{note})"
        )
    if resampled:
        low, high = e.interval()
        error += f" [{low:.4f}, {high:.4f}]"
    unseen = "" if e.diagnostics.examined else "; blind spot not examined"
    return f"{e.metric} {e.value:.4f}{error} for {about} ({e.method}, from {source}{unseen}{note})"


def format_estimate(e: Estimate) -> str:
    """Value and standard error for the cell of a table; behind the known range where it is blind.

    The mark of an extrapolation is :data:`MARK`, explained by :data:`MARK_NOTE`.
    """
    if e.known:
        return f"{e.value:.4f}"
    bounds = e.diagnostics.bounds
    if e.diagnostics.blind and bounds is not None:
        return f"{range_text(bounds)}; {e.value:.4f}{MARK} ± {e.std_error:.4f}"
    return f"{e.value:.4f} ± {e.std_error:.4f}"


def range_text(bounds: tuple[float, float], *, signed: bool = False) -> str:
    """What the samples alone allow.

    >>> range_text((0.0, 0.1342)), range_text((-0.12, 0.1342), signed=True)
    ('0 to 0.13', '-0.12 to +0.13')
    """
    low, high = (short_number(end, signed=signed) for end in bounds)
    return f"{low} to {high}"


def short_number(number: float, *, signed: bool = False) -> str:
    """Two digits of a value in [0, 1]; whole numbers from ten on.

    >>> [short_number(x) for x in (0.0, 0.1342, 0.3, 152.7)], short_number(0.1342, signed=True)
    (['0', '0.13', '0.30', '153'], '+0.13')
    """
    if abs(number) < 5e-7:
        return "0"
    sign = "+" if signed else ""
    return format(number, f"{sign}.0f" if abs(number) >= 10 else f"{sign}#.2g")
