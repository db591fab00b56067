"""Designs in words: see :mod:`truerank.ranking.design_words`."""

from __future__ import annotations

from truerank.ranking.design_words import (
    REFERENCE_WORDS,
    DesignInWords,
    design_words,
    parse_design,
)

__all__ = ["REFERENCE_WORDS", "DesignInWords", "design_words", "parse_design"]
