"""The report as one HTML file that needs nothing else: no network, no fonts, no images.

Reading works without JavaScript; with it tables sort and charts answer the pointer.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from truerank.files import written_whole
from truerank.plain_data import plain
from truerank.report.chart_table import chart_data, chart_table
from truerank.report.elements import clean
from truerank.report.marks import swatch
from truerank.report.notes import NoteLetters
from truerank.report.page import Chart, Code, Details, Page, Part, Table, Text
from truerank.report.svg import COMPACT, WIDE, chart_svg

if TYPE_CHECKING:
    from jinja2 import Environment


def write_html(page: Page, path: str | Path, *, force: bool = False) -> Path:
    """Write the report; an existing file is replaced only with ``force``."""
    text = render_html(page)
    with written_whole(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def render_html(page: Page) -> str:
    """The whole report as the text of one HTML file; the same page gives the same text."""
    style, script = _asset("report.css"), _asset("report.js")
    views = _Views()
    sections = [
        {
            "title": section.title,
            "anchor": section.anchor,
            "paragraphs": section.paragraphs,
            "parts": views.of(section.parts),
        }
        for section in page.sections
    ]
    text = (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            sections=sections,
            data=embedded_json(page.data),
            charts=embedded_json(views.charts),
            style=style,
            script=script,
            policy=content_policy(style=style, script=script),
        )
    )
    return clean(text)


def content_policy(*, style: str, script: str) -> str:
    """What the browser may load: this page's own style and script, known by hash; nothing else."""
    rules = {
        "default-src": "'none'",
        "style-src": _hashed(style),
        "script-src": _hashed(script),
        "img-src": "data:",  # the empty icon: without it a browser would ask a server for one
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class _Views:
    """Turns parts into what the template shows, and numbers charts and tables on the way."""

    def __init__(self) -> None:
        self.charts: list[dict[str, Any]] = []
        self._tables = 0

    def of(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        return list(self._each(parts))

    def _each(self, parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
        for part in parts:
            match part:
                case Chart():
                    yield self._chart(part)
                case Table():
                    yield self._table(part)
                case Text():
                    yield {"kind": "text", "text": part.text, "tone": part.kind}
                case Code():
                    yield {"kind": "code", "text": part.text, "label": part.label}
                case Details():
                    inside = self.of(part.parts)
                    yield {
                        "kind": "details",
                        "summary": part.summary,
                        "open": part.open,
                        "parts": inside,
                    }

    def _chart(self, chart: Chart) -> dict[str, Any]:
        self.charts.append(chart_data(chart))
        key = f"chart-{len(self.charts)}"
        legend = [(swatch(chart, s, i), s.name) for i, s in enumerate(chart.series)]
        return {
            "kind": "chart",
            "title": chart.title,
            "caption": chart.caption,
            "legend": legend if len(legend) > 1 else [],
            "wide": chart_svg(chart, key=f"{key}-wide", layout=WIDE),
            "compact": chart_svg(chart, key=f"{key}-compact", layout=COMPACT),
            "table": self._table(chart_table(chart)),
        }

    def _table(self, table: Table) -> dict[str, Any]:
        self._tables += 1
        letters = NoteLetters()
        numeric = [table.numeric(column) for column in range(len(table.heads))]
        rows = [
            [
                {
                    "text": cell.text,
                    "sort": sort_key(cell.sort),
                    "mark": cell.mark,
                    "note": letters.of(cell.note),
                    "numeric": numeric[column],
                }
                for column, cell in enumerate(row)
            ]
            for row in table.rows
        ]
        heads = [
            {"text": head, "numeric": right}
            for head, right in zip(table.heads, numeric, strict=True)
        ]
        return {
            "kind": "table",
            "key": f"table-{self._tables}",
            "caption": table.caption,
            "heads": heads,
            "rows": rows,
            "remarks": table.notes,
            "notes": letters.notes(),
        }


def sort_key(given: float | str | None) -> str | None:
    """What the script sorts by; an empty text, which comes last, for what is not a number."""
    if given is None or isinstance(given, str):
        return given
    value = float(given)
    return "" if value != value else repr(value).replace("inf", "Infinity")


@cache
def _environment() -> Environment:
    # Loaded only when a report is made: importing truerank stays light.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("truerank.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset(name: str) -> Markup:
    """The style sheet or the script: our own text, put in as it is."""
    folder = resources.files("truerank.report") / "templates"
    return Markup((folder / name).read_text(encoding="utf-8"))  # noqa: S704


def _hashed(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


# JSON needs none of these outside strings, so replacing them everywhere changes no value;
# without them neither </script> nor <!-- can appear. json itself escapes all but ASCII.
HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def embedded_json(data: Any) -> Markup:
    r"""``data`` as JSON for a ``<script type="application/json">`` element.

    NaN and infinities, which JSON does not know, become null; numpy values become plain ones.

    >>> print(embedded_json({"name": "</script>", "value": float("nan")}))
    {"name": "\u003c/script\u003e", "value": null}
    """
    text = json.dumps(plain(data), allow_nan=False)
    # Made of ASCII with < > & escaped: nothing is left that HTML could read as its own.
    return Markup(text.translate(HARMLESS))  # noqa: S704
