"""Designs in words: see :mod:`truerank.ranking.design_spec`."""

from __future__ import annotations

from truerank.ranking.design_spec import (
    REFERENCE_WORDS,
    DesignInWords,
    design_words,
    parse_design,
)

__all__ = ["REFERENCE_WORDS", "DesignInWords", "design_words", "parse_design"]
