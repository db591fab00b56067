"""What would show more than these samples do, for the design that was used.

Nobody is told to do what was done already: an adaptive design needs a larger ceiling or budget, a
fixed sample needs to be larger or adaptive, and ranks made elsewhere cannot be drawn again by us.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def larger_sample(design: Mapping[str, Any], n_needed: int) -> str:
    """The change of the samples that should show a cutoff which needs ``n_needed`` items.

    >>> larger_sample({"kind": "sampled", "n": 100}, 3000)
    'n >= 3,000'
    >>> larger_sample({"kind": "adaptive", "n_max": 800}, 3000)
    'n_max >= 3,000'
    """
    inner = _of_one_user(design)
    if inner.get("kind") != "adaptive":
        return f"n >= {n_needed:,}"
    n_max = inner.get("n_max")
    return "a larger budget" if n_max is None or n_max >= n_needed else f"n_max >= {n_needed:,}"


def next_design(design: Mapping[str, Any]) -> str:
    """What to try after a design whose samples hardly determine a metric.

    >>> next_design({"kind": "users", "m": 50, "inner": {"kind": "sampled"}})
    'an adaptive design looks where it matters'
    >>> next_design({"kind": "adaptive", "n_max": None})
    'a larger budget, or some users ranked in full, would tell more'
    """
    inner = _of_one_user(design)
    kind = inner.get("kind")
    if kind == "sampled":
        return "an adaptive design looks where it matters"
    larger = "larger samples"
    if kind == "adaptive":
        larger = "a larger budget" if inner.get("n_max") is None else "a larger n_max"
    return f"{larger}, or some users ranked in full, would tell more"


def _of_one_user(design: Mapping[str, Any]) -> Mapping[str, Any]:
    """How each user was ranked, whichever users were."""
    inner = design.get("inner")
    return inner if isinstance(inner, Mapping) else design
