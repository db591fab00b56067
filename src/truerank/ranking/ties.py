"""What rank a target gets that ties with others: decided here, nowhere else.

===============  ==================================================================
rule             the target's rank with ``better`` rivals above and ``tied`` beside it
===============  ==================================================================
``half``         ``1 + better + ceil(tied / 2)``: the default. A constant model lands in
                 the middle of the list, not at the top, where ``>`` would put it, nor at
                 the bottom.
``optimistic``   ``1 + better``
``pessimistic``  ``1 + better + tied``: the rule of the NCF evaluation.
``random``       its place in one random order of the tied items, addressed by
                 (seed, user, item): the only rule under which a sampled rank is exactly
                 hypergeometric given the full rank when scores tie.
===============  ==================================================================
"""

from __future__ import annotations

from typing import Literal, get_args

from truerank.errors import InvalidArgumentError

TieRule = Literal["half", "optimistic", "pessimistic", "random"]
TIE_RULES: tuple[str, ...] = get_args(TieRule)


def tie_code(rule: str) -> int:
    """The rule as the number the kernels know (``scores.HALF`` and so on, in this order).

    >>> tie_code("half")
    0
    """
    if rule not in TIE_RULES:
        raise InvalidArgumentError("ties", rule, f"one of {', '.join(TIE_RULES)}")
    return TIE_RULES.index(rule)
