"""Elements of SVG as escaped text, and how wide a piece of text is about."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

# Characters that XML does not allow, and lone surrogates, which UTF-8 cannot carry.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
NARROW = frozenset("iljtfrI.,:;|!'()[]/- ")
WIDE = frozenset("mwMW@%—∞")


def clean(text: str) -> str:
    """The text with what no document may contain replaced by U+FFFD."""
    return FORBIDDEN.sub("\ufffd", text)


def isolated(name: str) -> str:
    """A name that cannot turn the text around it: right-to-left writing stays inside."""
    return name if name.isascii() else f"\u2068{name}\u2069"


def element(tag: str, *children: str | Markup, **attributes: object) -> Markup:
    """One element; text children and attributes are escaped, markup is kept.

    A trailing underscore of an attribute is dropped (``class_``), others become hyphens, and an
    attribute that is None is left out.

    >>> print(element("text", "a < b", x=1.50, class_="tick"))
    <text x="1.5" class="tick">a &lt; b</text>
    """
    opening = f"<{tag}"
    for key, value in attributes.items():
        if value is None:
            continue
        shown = coordinate(value) if isinstance(value, float) else clean(str(value))
        opening += f' {key.rstrip("_").replace("_", "-")}="{escape(shown)}"'
    body = "".join(c if isinstance(c, Markup) else escape(clean(c)) for c in children)
    # Every piece is escaped above or was markup already.
    return Markup(f"{opening}>{body}</{tag}>" if children else f"{opening}/>")  # noqa: S704


def group(children: list[Markup], **attributes: object) -> Markup:
    """A ``<g>`` around elements; nothing around nothing."""
    return element("g", *children, **attributes) if children else Markup("")


def coordinate(value: float) -> str:
    """A length to a tenth of a pixel, without idle zeros."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a sans-serif line is, in the unit of ``size``; sooner too wide."""
    total = 0.0
    for char in text:
        if unicodedata.combining(char):
            continue
        if char in NARROW:
            total += 0.4
        elif char in WIDE or unicodedata.east_asian_width(char) in "WF":
            total += 1.02
        elif char.isupper():
            total += 0.72
        else:
            total += 0.635
    return total * size * (1.11 if bold else 1.0)


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, cut with an ellipsis where it is wider than ``width``."""
    if text_width(text, size, bold=bold) <= width:
        return text
    kept, used = "", text_width("…", size, bold=bold)
    for char in text:
        used += text_width(char, size, bold=bold)
        if used > width:
            break
        kept += char
    return kept.rstrip() + "…"
