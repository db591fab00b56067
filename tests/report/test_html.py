"""The page: escaped, self-contained, complete without a script, the same every time."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError, StorageError
from truerank.report.html import content_policy, embedded_json, render_html, sort_key, write_html
from truerank.report.notes import NoteLetters
from truerank.report.page import Cell, Page, Section, Table


class Elements(HTMLParser):
    """Every start tag with its attributes, every text by the tag around it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def script_text(html: str, name: str) -> str:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.S)
    assert found is not None
    return found[1]


def css() -> str:
    return (resources.files("truerank.report") / "templates" / "report.css").read_text("utf-8")


def test_the_page_says_everything_it_was_given(page: Page) -> None:
    elements = Elements(render_html(page))
    text = " ".join(elements.texts)
    for said in (page.title, page.verdict, page.lead, page.footer):
        assert said in text
    for number, section in enumerate(page.sections, start=1):
        assert {"id": section.anchor, "aria-labelledby": f"{section.anchor}-title"} in (
            elements.all("section")
        )
        assert {"href": f"#{section.anchor}"} in elements.all("a")
        assert f"{number}" in elements.texts
    assert len(elements.all("h1")) == 1


def test_identifiers_are_unique_and_links_arrive(page: Page) -> None:
    elements = Elements(render_html(page))
    ids = [attrs["id"] for _, attrs in elements.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in elements.all("a"):
        assert (attrs["href"] or "").removeprefix("#") in ids
    for _, attrs in elements.tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attrs.get(name) is None or attrs[name] in ids


def test_nothing_is_loaded_from_anywhere(page: Page, hostile_page: Page) -> None:
    for one in (page, hostile_page):
        elements = Elements(render_html(one))
        tags = {tag for tag, _ in elements.tags}
        assert not tags & {"img", "iframe", "object", "embed", "audio", "video", "base", "form"}
        assert [a["href"] for a in elements.all("link")] == ["data:,"]
        for _, attrs in elements.tags:
            assert "src" not in attrs
            assert "style" not in attrs  # the policy would drop it
            assert not any(name.startswith("on") for name in attrs)
    assert "url(" not in css()
    assert "@import" not in css()


def test_hostile_names_are_shown_as_they_are(hostile_page: Page) -> None:
    html = render_html(hostile_page)
    elements = Elements(html)
    kinds = [attrs.get("type") for attrs in elements.all("script")]
    assert kinds == ["application/json", "application/json", None]
    assert "<script>alert(1)</script>" in elements.texts
    assert html.encode("utf-8")  # the lone surrogate was replaced
    assert "\x00" not in html


def test_the_policy_knows_style_and_script_by_their_hash(page: Page) -> None:
    html = render_html(page)
    style = re.search(r"<style>(.*?)</style>", html, re.S)
    script = re.search(r"<script>(.*?)</script>", html, re.S)
    assert style is not None
    assert script is not None
    policy = Elements(html).all("meta")[1]["content"]
    assert policy == content_policy(style=style[1], script=script[1])
    assert (policy or "").startswith("default-src 'none'; ")
    assert "unsafe" not in (policy or "")


def test_numbers_survive_the_page(page: Page, hostile_page: Page) -> None:
    html = render_html(page)
    data = json.loads(script_text(html, "truerank-data"))
    assert data == {**page.data, "missing": None}
    charts = json.loads(script_text(html, "truerank-charts"))
    assert len(charts) == 5
    names = json.loads(script_text(render_html(hostile_page), "truerank-data"))
    assert names == hostile_page.data


def test_json_cannot_end_its_script() -> None:
    data = {"a": "</script><!--<script>", "b": "\u2028\u2029&", "c": [math.inf, -math.inf, 1.5]}
    text = str(embedded_json(data))
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {**data, "c": [None, None, 1.5]}
    numpy = {"v": np.float64(0.1), "a": np.arange(2), "n": np.array([np.nan]), 3: (True, None)}
    assert json.loads(embedded_json(numpy)) == {
        "v": 0.1, "a": [0, 1], "n": [None], "3": [True, None],
    }  # fmt: skip


def test_the_same_page_gives_the_same_text(page: Page) -> None:
    # Another process, with other hashes of strings, must not order anything differently.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import conftest;"
        "from truerank.report.html import render_html;"
        "sys.stdout.buffer.write(render_html(conftest.make_page()).encode('utf-8'))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env={"PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=True,
    ).stdout
    assert elsewhere.decode("utf-8") == render_html(page)


def test_a_file_is_written_whole_and_not_replaced_unasked(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert write_html(page, path) == path
    assert path.read_text(encoding="utf-8") == render_html(page)
    path.write_text("mine")
    with pytest.raises(StorageError, match=r"report\.html exists already; .*force=True"):
        write_html(page, path)
    assert path.read_text() == "mine"
    write_html(page, path, force=True)
    assert path.stat().st_size > 10_000
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_templates_are_part_of_the_package() -> None:
    folder = resources.files("truerank.report") / "templates"
    names = {entry.name for entry in folder.iterdir()}
    assert {"report.html.j2", "parts.html.j2", "report.css", "report.js"} <= names


def test_cells_carry_what_they_sort_by_their_marks_and_notes() -> None:
    rows = [
        [Cell("a"), Cell("0.1", sort=0.1, mark="**", note="weak")],
        [Cell("b"), Cell("—", sort=math.nan, note="weak")],
        [Cell("c"), Cell("0.3", note="strong")],
    ]
    page = Page("t", "v", "", [Section("s", "s", parts=[Table(["m", "x"], rows, "cap")])])
    html = render_html(page)
    cells = Elements(html).all("td")
    assert [cell.get("data-sort") for cell in cells] == ["0.1", "", None]
    assert '<sup class="mark-of">**</sup>' in html
    assert html.count('aria-label="note a"') == 2
    assert html.count("<sup>b</sup> strong") == 1
    assert [sort_key(v) for v in (1, math.inf, "x", None)] == ["1.0", "Infinity", "x", None]


def test_a_column_without_digits_is_not_aligned_as_numbers() -> None:
    table = Table(["m", "x", "group"], [[Cell("a1"), Cell("< 0.01"), Cell("A")]])
    assert [table.numeric(i) for i in range(3)] == [False, True, False]


def test_letters_go_on_after_z() -> None:
    letters = NoteLetters()
    assert [letters.of(str(i)) for i in range(28)][-3:] == ["z", "aa", "ab"]
    assert letters.of("0") == "a"
    assert letters.of("") == ""


def test_a_small_page_needs_nothing_else() -> None:
    html = render_html(Page("t", "v", "", []))
    assert "<nav" not in html
    assert json.loads(script_text(html, "truerank-data")) == {}


def test_a_row_that_does_not_fit_its_heads_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="row 1 of the table must be 2 cells like heads"):
        Table(["a", "b"], [[Cell("x")]])


@pytest.mark.parametrize("anchors", [["a b"], [""], ["a", "a"], ["main"]])
def test_anchors_must_be_addresses_of_their_own(anchors: list[str]) -> None:
    with pytest.raises(InvalidArgumentError, match="anchor"):
        Page("t", "v", "", [Section("s", anchor) for anchor in anchors])


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(scheme: int) -> None:
    block = re.findall(r":root \{(.*?)\}", css(), re.S)[scheme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
    for ground in ("paper", "raised"):
        for text in ("ink", "soft", "accent", "warn"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for hue in range(8):  # lines and marks, not text
        assert contrast(colours[f"h{hue}"], colours["paper"]) >= 3.0, hue
