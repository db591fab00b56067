"""Tables as text, Markdown and LaTeX: escaped, aligned, with marks and notes."""

from __future__ import annotations

import pytest

from truerank.errors import InvalidArgumentError
from truerank.report.html import render_html
from truerank.report.latex import latex_table, latex_text
from truerank.report.markdown import escaped, markdown_table
from truerank.report.page import Cell, Page, Section, Table
from truerank.report.text import display_width, text_table

TABLE = Table(
    ["model", "nDCG@10", "trust"],
    [
        [Cell("ease"), Cell("0.1820", mark="**"), Cell("good")],
        [Cell("a_b|c & <d>"), Cell("−0.01", mark="*", note="100% a guess"), Cell("weak")],
        [Cell("模型"), Cell("0.5", note="100% a guess"), Cell("good")],
    ],
    "Three models",
)


def test_text_by_hand() -> None:
    assert text_table(TABLE).splitlines() == [
        "Three models",
        "",
        "model           nDCG@10  trust",
        "───────────  ──────────  ─────",
        "ease           0.1820**  good",
        "a_b|c & <d>  −0.01* [a]  weak",
        "模型            0.5 [a]  good",
        "",
        "[a] 100% a guess",
    ]


def test_notes_stand_below_and_explain_marks_inside_cells() -> None:
    cells = [[Cell("a"), Cell("0 to 0.1; 0.02†", note="few users")]]
    table = Table(["model", "x_1"], cells, "", notes=("† a guess_",))
    assert text_table(table).splitlines()[-3:] == ["", "† a guess_", "[a] few users"]
    assert markdown_table(table).splitlines()[-3:] == [
        "", "† a guess\\_  ", "<sup>a</sup> few users  ",
    ]  # fmt: skip
    assert latex_table(table, caption="c", label="l").splitlines()[-4:] == [
        r"  \par\smallskip\raggedright\footnotesize",
        r"  \dag{} a guess\_\par",
        r"  \textsuperscript{a} few users\par",
        r"\end{table}",
    ]
    page = Page("t", "v", "l", [Section("s", "s", (), [table])])
    notes = render_html(page).split('<ol class="notes">')[1].split("</ol>")[0]
    assert notes.index("<li>† a guess_</li>") < notes.index("few users")


def test_a_terminal_is_not_given_commands() -> None:
    table = Table(["m"], [[Cell("red \x1b[31m\nnext line")]])
    assert "\x1b" not in text_table(table)
    assert len(text_table(table).splitlines()) == 3


def test_markdown_by_hand() -> None:
    assert markdown_table(TABLE).splitlines() == [
        "| model                   |               nDCG@10 | trust |",
        "| :---------------------- | --------------------: | :---- |",
        "| ease                    | 0.1820<sup>\\*\\*</sup> | good  |",
        "| a\\_b\\|c &amp; &lt;d&gt; |  −0.01<sup>\\*,a</sup> | weak  |",
        "| 模型                    |       0.5<sup>a</sup> | good  |",
        "",
        "<sup>a</sup> 100% a guess  ",
    ]


def test_markdown_has_the_same_columns_in_every_row() -> None:
    lines = markdown_table(TABLE).splitlines()[:5]
    assert len({display_width(line) for line in lines}) == 1
    unescaped = [line.replace("\\|", "").count("|") for line in lines]
    assert set(unescaped) == {4}
    assert escaped("`x` [y](z)\n# no") == "\\`x\\` \\[y\\](z) # no"


def test_latex_by_hand() -> None:
    weak = r"    a\_b\textbar{}c \& \textless{}d\textgreater{} & $-$0.01\textsuperscript{{*},a}"
    assert latex_table(TABLE, caption="50% better_than", label="tab:models").splitlines() == [
        r"\begin{table}[t]",
        r"  \centering",
        r"  \caption{50\% better\_than}",
        r"  \label{tab:models}",
        r"  \begin{tabular}{lrl}",
        r"    \toprule",
        r"    model & nDCG@10 & trust \\",
        r"    \midrule",
        r"    ease & 0.1820\textsuperscript{{*}{*}} & good \\",
        weak + r" & weak \\",
        r"    模型 & 0.5\textsuperscript{a} & good \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \par\smallskip\raggedright\footnotesize",
        r"  \textsuperscript{a} 100\% a guess\par",
        r"\end{table}",
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param(r"\input{x}", r"\textbackslash{}input\{x\}", id="command"),
        pytest.param("[1] *", "{[}1{]} {*}", id="after-a-row-end"),
        pytest.param("a\n\nb", "a b", id="paragraph"),
        pytest.param("10⁻⁷ n₀ ™", r"10\textsuperscript{$-$}\textsuperscript{7} n\textsubscript{0} "
                     r"\textsuperscript{TM}", id="raised"),
        pytest.param("0.1 ± 0.2 — “x”", r"0.1 $\pm$ 0.2 --- ``x''", id="signs"),
    ],
)  # fmt: skip
def test_latex_prints_text_as_it_is(text: str, written: str) -> None:
    assert latex_text(text) == written


def test_a_label_that_would_break_the_source_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="label must be letters"):
        latex_table(TABLE, caption="c", label="a}b")


@pytest.mark.parametrize("render", [text_table, markdown_table])
def test_a_table_without_rows_has_its_heads(render) -> None:
    assert "model" in render(Table(["model", "value"], []))
