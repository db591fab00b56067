"""Charts: valid XML, sensible ticks, and gaps where there is nothing to draw."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.report.chart_table import chart_data, chart_table
from truerank.report.elements import element, shortened, text_width
from truerank.report.intervals import rows_of
from truerank.report.marks import HUES, SHAPES, bands, runs_of
from truerank.report.page import Chart, Page, Part, Series
from truerank.report.scale import (
    Scale,
    common_decimals,
    fixed,
    nice_step,
    number,
    scale_of,
    short,
)
from truerank.report.svg import COMPACT, WIDE, Layout, chart_svg
from truerank.report.wording import wording_of

NAN, INF = math.nan, math.inf
SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("lines", "steps", "scatter", "intervals")


def drawn(chart: Chart, layout: Layout = WIDE) -> ET.Element:
    return ET.fromstring(chart_svg(chart, key="c", layout=layout))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if name in (e.get("class") or "").split()]


def texts(root: ET.Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text")]


def coordinates(root: ET.Element) -> list[float]:
    names = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "d", "points")
    values = " ".join(e.get(name, "") for e in root.iter() for name in names)
    return [float(v) for v in re.findall(r"-?\d+(?:\.\d+)?", values)]


def charts_of(parts: Sequence[Part]) -> list[Chart]:
    return [part for part in parts if isinstance(part, Chart)]


def every_chart(page: Page) -> list[Chart]:
    return [chart for section in page.sections for chart in charts_of(section.parts)]


@pytest.mark.parametrize("layout", [WIDE, COMPACT], ids=["wide", "compact"])
def test_every_chart_is_valid_xml_with_words(page: Page, layout: Layout) -> None:
    for chart in every_chart(page):
        root = drawn(chart, layout)
        assert root.get("role") == "img"
        by_id = {e.get("id"): e.text for e in root.iter() if e.get("id")}
        assert by_id[root.get("aria-labelledby")] == chart.title
        assert chart.caption in (by_id[root.get("aria-describedby")] or "")
        assert len(of_class(root, "answer")) > 0


@pytest.mark.parametrize("layout", [WIDE, COMPACT], ids=["wide", "compact"])
def test_hostile_names_stay_text(hostile_page: Page, layout: Layout) -> None:
    for chart in every_chart(hostile_page):
        root = drawn(chart, layout)
        assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
            "svg", "title", "desc", "g", "line", "path", "polygon", "circle", "text",
        }  # fmt: skip
        assert "<script>alert(1)</script>" in "".join(root.itertext())
        assert not any(name.startswith("on") for e in root.iter() for name in e.attrib)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "series",
    [
        pytest.param([], id="no-series"),
        pytest.param([Series("empty", [])], id="no-points"),
        pytest.param([Series("none", [NAN, INF], [NAN, -INF])], id="nothing-finite"),
        pytest.param([Series("one", [3.0], [0.5], [0.4], [0.6])], id="one-point"),
        pytest.param([Series("same", [3.0, 3.0], [0.5, 0.5])], id="all-equal"),
        pytest.param([Series("zero", [0.0, 0.0], [0.0, 0.0])], id="all-zero"),
        pytest.param([Series("huge", [1e308, -1e308], [1e308, -1e308])], id="huge"),
        pytest.param([Series("tiny", [5e-324, 1e-320], [5e-324, 1e-320])], id="tiny"),
        pytest.param([Series("open", [1.0, 2.0], [1.0, NAN], [-INF, NAN], [INF, NAN])], id="open"),
        pytest.param([Series("numpy", np.arange(3), np.arange(3) / 3)], id="numpy"),
    ],
)
@pytest.mark.parametrize("log", [False, True], ids=["linear", "log"])
def test_odd_values_leave_gaps_and_never_break(kind: str, series: list[Series], log: bool) -> None:
    for layout in (WIDE, COMPACT):
        chart = Chart("t", "c", "x", "y", series, kind=kind, x_log=log, y_log=log, zero_line=True)  # type: ignore[arg-type]
        root = drawn(chart, layout)
        assert "nan" not in ET.tostring(root, encoding="unicode").lower()
        assert max(map(abs, coordinates(root)), default=0) < 2_000
        chart_table(chart)


def test_a_gap_parts_the_line_and_the_band() -> None:
    y = [0.1, 0.2, NAN, 0.3, 0.4, INF, 0.5]
    series = Series("a", range(1, 8), y, [v - 0.05 for v in y], [v + 0.05 for v in y])
    across, up = Scale(1, 7, 0, 60), Scale(0, 1, 100, 0)
    assert [[p.index for p in run] for run in runs_of(series, across, up)] == [[0, 1], [3, 4], [6]]
    assert len(list(bands(series, across, up))) == 2
    root = drawn(Chart("t", "c", "x", "y", [series]))
    assert len(of_class(root, "line")) == 3
    assert len(of_class(root, "answer")) == 5


def test_points_are_where_the_scale_puts_them() -> None:
    chart = Chart("t", "c", "x", "y", [Series("a", [0, 10], [0.0, 1.0])])
    (path,) = of_class(drawn(chart), "line")
    x0, y0, x1, y1 = map(float, re.findall(r"-?\d+(?:\.\d+)?", path.get("d", "")))
    grid = [float(e.get("y1", "")) for e in of_class(drawn(chart), "grid")]
    assert (y0, y1) == (max(grid), min(grid))
    assert x0 < x1
    assert Scale(1, 100, 0, 200, log=True).place(10) == pytest.approx(100)
    assert Scale(0, 4, 200, 0).place(1) == pytest.approx(150)


def test_steps_hold_a_value_until_the_next() -> None:
    chart = Chart("t", "c", "x", "y", [Series("a", [1, 2, 3], [0.2, 0.5, 1.0])], kind="steps")
    (path,) = of_class(drawn(chart), "line")
    assert re.sub(r"[\d. ]+", "", path.get("d", "")) == "MHVHV"


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        pytest.param(0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"], id="unit"),
        pytest.param(0, 0.1, ["0.00", "0.02", "0.04", "0.06", "0.08", "0.10"], id="small"),
        pytest.param(-1, 1, ["−1.0", "−0.5", "0.0", "0.5", "1.0"], id="signed"),
        pytest.param(0, 0.125, ["0.000", "0.025", "0.050", "0.075", "0.100", "0.125"], id="2.5"),
        pytest.param(0, 12_000, ["0", "2,500", "5,000", "7,500", "10,000"], id="thousands"),
        pytest.param(0, 4e6, ["0", "1M", "2M", "3M", "4M"], id="millions"),
    ],
)
def test_linear_ticks(low: float, high: float, labels: list[str]) -> None:
    assert [t.label for t in Scale(low, high, 0, 100).ticks(5)] == labels


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        pytest.param(1, 100, ["1", "2", "5", "10", "20", "50", "100"], id="two-decades"),
        pytest.param(1, 20_000, ["1", "10", "100", "1,000", "10,000"], id="decades"),
        pytest.param(1e-4, 1e-1, ["0.0001", "0.001", "0.01", "0.1"], id="fractions"),
        pytest.param(
            1, 1e12, ["1", "100", "10k", "1M", "100M", "10¹⁰", "10¹²"], id="every-other-decade"
        ),
        pytest.param(22, 44, ["25", "30", "35", "40"], id="within-a-decade"),
    ],
)
def test_log_ticks(low: float, high: float, labels: list[str]) -> None:
    assert [t.label for t in Scale(low, high, 0, 100, log=True).ticks(8)] == labels


def test_ticks_are_few_and_inside_for_any_range() -> None:
    rng = np.random.default_rng(11)
    for _ in range(500):
        low, span = rng.normal() * 10 ** rng.uniform(-6, 6), 10 ** rng.uniform(-6, 6)
        scale = Scale(low, low + span, 0, 1)
        ticks = scale.ticks(6)
        assert 2 <= len(ticks) <= 7
        assert all(low - 1e-6 * span <= t.value <= low + span * (1 + 1e-6) for t in ticks)
        assert nice_step(span, 6) * 6 >= span * (1 - 1e-9)
        assert len({t.label for t in ticks}) == len(ticks) or abs(low) / span > 1e7


def test_a_scale_holds_its_values_and_zero_where_it_should() -> None:
    assert scale_of([0.2, 0.9], 0, 1).low == 0.0  # zero costs little room
    assert scale_of([0.8, 0.9], 0, 1).low == 0.8
    assert scale_of([0.8, 0.9], 0, 1, zero=True).low == 0.0
    assert (scale_of([-3.2, 7.9], 0, 1, whole_steps=5).low) == -5.0
    assert scale_of([0.0, -1.0, 3.0, 8.0], 0, 1, log=True).low == 3.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1234, "1,234"), (0.0321987, "0.0322"), (-0.5, "−0.5"), (2e-7, "2 × 10⁻⁷"),
        (1e-6, "10⁻⁶"), (1e20, "10²⁰"), (NAN, "—"), (-INF, "−∞"), (INF, "∞"), (10.0, "10"),
    ],
)  # fmt: skip
def test_numbers_for_people(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_of_one_kind_look_alike() -> None:
    assert fixed(0.0117, 3, signed=True) == "+0.012"
    assert fixed(-0.0001, 2, signed=True) == "0.00"  # no signed zero
    assert fixed(0.1234, 1, percent=True) == "12.3%"
    assert common_decimals([0.01, 0.14]) == 3
    assert common_decimals([0.01, 0.14], percent=True) == 1
    assert common_decimals([]) == 2
    assert [short(v) for v in (500, 5e5, 2e7)] == ["500", "500k", "20M"]
    say = wording_of(Chart("t", "", "x", "y", [Series("a", [1, 2], [0.1, 0.5])]))
    assert [say(v) for v in (0.1, 0.28474, 0.00012)] == ["0.1000", "0.2847", "0.00012"]


def test_intervals_of_equal_labels_share_a_row() -> None:
    outer = Series("bounds", [NAN, NAN], low=[0.1, 0.2], high=[0.3, 0.4], labels=["a", "b"])
    inner = Series("estimate", [0.2, 0.3], low=[0.19, 0.29], high=[0.21, 0.31], labels=["a", "b"])
    chart = Chart("t", "c", "x", "", [outer, inner], kind="intervals")
    rows = rows_of(chart)
    assert [label for label, _ in rows] == ["a", "b"]
    words = [bar.words for bar in rows["a", 1]]
    assert words == ["0.100 to 0.300", "0.200 (0.190 to 0.210)"]
    twice = Chart("t", "c", "x", "", [Series("d", [0.1, 0.2], labels=["a", "a"])], kind="intervals")
    assert len(rows_of(twice)) == 2
    root = drawn(chart)
    assert len(of_class(root, "bar")) == 4
    assert len(of_class(root, "mark")) == 2  # the bounds have no point


def test_a_flag_is_drawn_hollow_said_and_listed() -> None:
    series = Series("d", [0.1, 0.2], low=[0, 0], high=[1, 1], labels=["a", "b"], flags=["", "weak"])
    chart = Chart("t", "c", "x", "", [series], kind="intervals")
    root = drawn(chart)
    assert [len(of_class(root, "mark")), len(of_class(root, "hollow"))] == [2, 1]
    assert [e.get("data-remark") for e in of_class(root, "answer")] == [None, "weak"]
    assert any(text.endswith("†") for text in texts(root))
    assert [row[0].note for row in chart_table(chart).rows] == ["", "weak"]


def test_every_point_says_its_value_without_a_script() -> None:
    chart = Chart("t", "c", "K", "y", [Series("ease", [1, 10], [0.1, 0.5], [0, 0.4], [0.2, 0.6])])
    said = [e.findtext(f"{SVG}title") for e in of_class(drawn(chart), "answer")]
    assert said == [
        "ease: 0.1000 (0.0000 to 0.2000) at K 1",
        "ease: 0.5000 (0.4000 to 0.6000) at K 10",
    ]


def test_colour_is_never_alone() -> None:
    assert math.gcd(HUES, len(SHAPES)) == 1
    series = [Series(str(i), [1, 2], [0.1 * i, 0.2 * i]) for i in range(HUES + 1)]
    root = drawn(Chart("t", "c", "x", "y", series, kind="scatter"))
    first, last = of_class(root, "h0")[:2]
    assert first[0].tag != last[0].tag  # the ninth series has the first hue and another shape


def test_names_at_line_ends_do_not_overlap() -> None:
    series = [Series(f"model {i}", [1, 2], [0.1, 0.5 + 0.001 * i]) for i in range(6)]
    names = of_class(drawn(Chart("t", "c", "x", "y", series)), "name")
    heights = sorted(float(e.get("y", "")) for e in names)
    assert len(heights) == 6
    assert all(b - a >= WIDE.font for a, b in itertools.pairwise(heights))
    assert heights[0] >= 0
    assert heights[-1] <= WIDE.height


def test_long_names_are_cut_to_the_room() -> None:
    name = "wide name " * 50
    cut = shortened(name, 120, 13)
    assert cut.endswith("…")
    assert text_width(cut, 13) <= 120
    assert shortened("short", 120, 13) == "short"
    chart = Chart(name, name, name, name, [Series(name, [1, 2], [1, 2])])
    longest = max(texts(drawn(chart, COMPACT)), key=len)
    assert text_width(longest, COMPACT.font) <= COMPACT.width


def test_the_table_of_a_long_chart_is_thinned_and_says_so() -> None:
    x = list(range(1, 101))
    chart = Chart("t", "c", "K", "y", [Series("a", x, [k / 100 for k in x])])
    table = chart_table(chart)
    assert [row[0].text for row in table.rows][:4] == ["1", "5", "10", "15"]
    assert table.rows[-1][0].text == "100"
    assert "21 of 100 points" in table.caption
    assert len(chart_data(chart)["series"][0]["y"]) == 100


def test_an_element_escapes_what_it_is_given() -> None:
    assert element("text", 'a<b & "c"\x00', data_name="\"'<") == (
        '<text data-name="&#34;&#39;&lt;">a&lt;b &amp; &#34;c&#34;\ufffd</text>'
    )


def test_a_series_of_two_lengths_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="low of the series 'a' must be 2 long like x"):
        Series("a", [1, 2], [1, 2], low=[1])
