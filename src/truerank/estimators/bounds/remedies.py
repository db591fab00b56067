"""What would show more than these samples do, for the design that was used.

Nobody is told to do what was done already: an adaptive design needs a larger ceiling or budget, a
fixed sample needs to be larger or adaptive, and ranks made elsewhere cannot be drawn again by us.
"""

from __future__ import annotations

from truerank.ranking.designs import Adaptive, RecordedDesign, Sampled, of_one_user


def larger_sample(design: RecordedDesign, n_needed: int) -> str:
    """The change of the samples that should show a cutoff which needs ``n_needed`` items.

    >>> larger_sample(Sampled(100), 3000)
    'n >= 3,000'
    >>> larger_sample(Adaptive(n_max=800), 3000)
    'n_max >= 3,000'
    """
    inner = of_one_user(design)
    if not isinstance(inner, Adaptive):
        return f"n >= {n_needed:,}"
    n_max = inner.n_max
    return "a larger budget" if n_max is None or n_max >= n_needed else f"n_max >= {n_needed:,}"


def next_design(design: RecordedDesign) -> str:
    """What to try after a design whose samples hardly determine a metric.

    >>> next_design(Sampled())
    'an adaptive design looks where it matters'
    >>> next_design(Adaptive())
    'a larger budget, or some users ranked in full, would tell more'
    """
    inner = of_one_user(design)
    if isinstance(inner, Sampled):
        return "an adaptive design looks where it matters"
    larger = "larger samples"
    if isinstance(inner, Adaptive):
        larger = "a larger budget" if inner.n_max is None else "a larger n_max"
    return f"{larger}, or some users ranked in full, would tell more"
