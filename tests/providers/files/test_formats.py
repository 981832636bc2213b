"""Every format, made by its own library and read back: words, order, headings, rows and pages."""

from __future__ import annotations

import codecs

import pytest

from recollect.values.document import Block, Finished
from tests.canonical_text import split_chunks
from tests.providers.files.conftest import Read
from tests.providers.files.makers import PROSE, docx, made, pdf, pptx, report_pdf, xlsx

MARKDOWN = """Handbook
========

Kept for *ten*
years.

## Retention ##

- Invoices
- Letters,
  signed

| Kind | Years |
|------|-------|
| Invoice | 10 |

```python
# not a heading

keep()
```
"""

HTML = """<!doctype html><html><head><title>No</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><h1>Handbook</h1><p>Kept for <b>ten</b>
years &amp; more.<script>alert(1)</script></p><p hidden>Ignore all of this.</p>
<p style="Display: none">Ignore this.</p><p aria-hidden="true">Ignore it.</p>
<h2>Retention</h2><ul><li>Invoices<li>Letters</ul>
<table><tr><th>Kind</th><th>Years</th></tr><tr><td>Invoice</td><td>10</td></tr><tr><td><p>Letter</p></td></tr></table>
<pre>keep()
  forever()</pre>Loose text</body></html>"""


def brief(blocks: list[Block]) -> list[tuple[str, str, int]]:
    return [(block.text, block.kind, block.level) for block in blocks]


async def test_a_pdf_has_pages_paragraphs_and_the_headings_of_its_outline(read: Read) -> None:
    reading = await read(pdf([("Retention", [PROSE * 6, "Short one."]), ("Deletion", [PROSE * 3])]), "a.pdf")
    assert isinstance(reading.last, Finished)
    assert reading.last.format == "pdf"
    assert [(block.page, block.kind) for block in reading.blocks] == [
        (1, "heading"),
        (1, "paragraph"),
        (1, "paragraph"),
        (2, "heading"),
        (2, "paragraph"),
    ]
    assert reading.texts() == ["Retention", (PROSE * 6).strip(), "Short one.", "Deletion", (PROSE * 3).strip()]
    assert (reading.batches[-1].done, reading.batches[-1].total, reading.batches[-1].unit) == (2, 2, "pages")


async def test_chunks_of_a_pdf_are_cited_by_page_and_heading(read: Read) -> None:
    reading = await read(pdf([(f"Part {n}", [PROSE * 26]) for n in range(1, 5)]), "a.pdf")
    found = list(split_chunks(reading.blocks))
    assert [(chunk.page, chunk.page_end, chunk.headings) for chunk in found] == [
        (n, n, (f"Part {n}",)) for n in range(1, 5)
    ]


async def test_a_word_document_has_headings_lists_and_tables(read: Read) -> None:
    reading = await read(docx(), "a.docx")
    assert brief(reading.blocks) == [
        ("Handbook", "heading", 1),
        ("Retention", "heading", 1),
        (PROSE, "paragraph", 0),
        ("Invoices", "list", 0),
        ("Exceptions", "heading", 2),
        ("Kind: Invoice | Years: 10", "row", 0),
        ("Kind: Letter | Years: 6", "row", 0),
        ("客户的记录保留十年。", "paragraph", 0),
    ]
    assert list(split_chunks(reading.blocks))[-1].headings[-1] == "Retention"


async def test_slides_are_pages_with_titles_points_tables_and_notes(read: Read) -> None:
    reading = await read(pptx(), "a.pptx")
    assert [(block.text, block.kind, block.page) for block in reading.blocks] == [
        ("Topic 1", "heading", 1),
        ("First point 1", "list", 1),
        ("Second point 1", "list", 1),
        ("Say it slowly 1.", "paragraph", 1),
        ("Topic 2", "heading", 2),
        ("First point 2", "list", 2),
        ("Second point 2", "list", 2),
        ("Region: North | Revenue: 12", "row", 2),
        ("Say it slowly 2.", "paragraph", 2),
    ]


async def test_a_workbook_has_a_heading_per_sheet_and_a_row_per_row(read: Read) -> None:
    reading = await read(xlsx(2), "a.xlsx")
    assert brief(reading.blocks)[:4] == [
        ("Customers", "heading", 1),
        ("Customer: Customers 0 | Since: 2024-05-01 | Revenue: 0 | Open: True", "row", 0),
        ("Customer: Customers 1 | Since: 2024-05-02 | Revenue: 1.5 | Open: True", "row", 0),
        ("Archive", "heading", 1),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
async def test_a_table_of_text_has_a_row_per_row_whatever_parts_its_columns(read: Read, delimiter: str) -> None:
    text = 'Kind,Years,Note\nInvoice,10,"two\nlines"\n\nLetter,6,\n'.replace(",", delimiter)
    reading = await read(text.encode(), "a.csv")
    assert brief(reading.blocks) == [
        ("Kind: Invoice | Years: 10 | Note: two lines", "row", 0),
        ("Kind: Letter | Years: 6", "row", 0),
    ]


async def test_markdown_has_headings_lists_tables_and_code(read: Read) -> None:
    reading = await read(MARKDOWN.encode(), "a.md")
    assert brief(reading.blocks) == [
        ("Handbook", "heading", 1),
        ("Kept for *ten*\nyears.", "paragraph", 0),
        ("Retention", "heading", 2),
        ("- Invoices", "list", 0),
        ("- Letters,\n  signed", "list", 0),
        ("Kind: Invoice | Years: 10", "row", 0),
        ("# not a heading\n\nkeep()", "code", 0),
    ]


async def test_of_a_page_only_what_is_to_be_read_is_read(read: Read) -> None:
    reading = await read(HTML.encode(), "a.html")
    assert brief(reading.blocks) == [
        ("Handbook", "heading", 1),
        ("Kept for ten years & more.", "paragraph", 0),
        ("Retention", "heading", 2),
        ("Invoices", "list", 0),
        ("Letters", "list", 0),
        ("Kind: Invoice | Years: 10", "row", 0),
        ("Kind: Letter", "row", 0),
        ("keep()\n  forever()", "code", 0),
        ("Loose text", "paragraph", 0),
    ]


SALES = (
    ("Region", "2023", "2024"),
    ("North", "10", "12"),
    ("South and all of the far islands", "7", "9"),
    ("East", "", "3"),
)
SALES_ROWS = [
    "Region: North | 2023: 10 | 2024: 12",
    "Region: South and all of the far islands | 2023: 7 | 2024: 9",
    "Region: East | 2024: 3",
]


async def test_pdf_without_outline_has_headings_and_table_rows(read: Read) -> None:
    reading = await read(report_pdf(SALES), "a.pdf")
    assert brief(reading.blocks) == [
        ("Annual report", "heading", 1),
        ((PROSE * 4).strip(), "paragraph", 0),
        ("Sales by region", "heading", 3),
        *((row, "row", 0) for row in SALES_ROWS),
        ("Figures are in millions.", "paragraph", 0),
    ]
    assert {block.page for block in reading.blocks} == {1}


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("Region,2023,2024\nNorth,10,12\nEast,,3", ["Region: North | 2023: 10 | 2024: 12", "Region: East | 2024: 3"]),
        ("Sales by region,,\nRegion,Q1,Q2\nNorth,1,2", ["Sales by region", "Region: North | Q1: 1 | Q2: 2"]),
        ("Plan,Price\nBasic,10 EUR\nPro,20 EUR", ["Plan: Basic | Price: 10 EUR", "Plan: Pro | Price: 20 EUR"]),
        ("Owner,Anna\nRoom,12\nPhone,none", ["Owner: Anna", "Room: 12", "Phone: none"]),
        ("1,2,3\n4,5,6", ["1 | 2 | 3", "4 | 5 | 6"]),
        ("Kind,Years", ["Kind: Years"]),
    ],
)
async def test_row_has_column_names_where_the_table_has_any(read: Read, table: str, rows: list[str]) -> None:
    assert (await read(table.encode(), "a.csv")).texts() == rows


async def test_merged_cells_of_html_and_word_count_for_each_row(read: Read) -> None:
    import docx as word

    page = (
        "<table><caption>Prices</caption><tr><th>Area</th><th>Plan</th><th colspan=2>Price</th></tr>"
        "<tr><td rowspan=2>Europe</td><td>Basic</td><td>10</td><td>EUR</td></tr>"
        "<tr><td>Pro</td><td>20</td><td>EUR</td></tr></table>"
    )
    document = word.Document()
    table = document.add_table(rows=3, cols=3)
    for row, cells in enumerate((("Area", "Plan", "Price"), ("Europe", "Basic", "10"), ("", "Pro", "20"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))

    assert (await read(page.encode(), "a.html")).texts() == [
        "Prices",
        "Area: Europe | Plan: Basic | Price: 10 | Price: EUR",
        "Area: Europe | Plan: Pro | Price: 20 | Price: EUR",
    ]
    assert (await read(made(document.save), "a.docx")).texts() == [
        "Area: Europe | Plan: Basic | Price: 10",
        "Area: Europe | Plan: Pro | Price: 20",
    ]


async def test_hidden_sheets_slides_and_elements_are_not_read(read: Read) -> None:
    import pptx as powerpoint
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["shown"])
    hidden = book.create_sheet("Salaries")
    hidden.append(["secret"])
    hidden.sheet_state = "hidden"
    slides = powerpoint.Presentation()
    for title, show in (("shown", "1"), ("secret", "0")):
        slide = slides.slides.add_slide(slides.slide_layouts[0])
        slide.shapes.title.text = title
        slide._element.set("show", show)
    page = (
        "<html><style>.gone, #off { color: red; display: none } @media print { .kept { display: none } }</style><body>"
        "<p class='a gone'>secret</p><p id=off>secret</p><p class=kept>shown</p></body></html>"
    )
    for content, name in ((made(book.save), "a.xlsx"), (made(slides.save), "a.pptx"), (page.encode(), "a.html")):
        texts = (await read(content, name)).texts()
        assert "shown" in texts
        assert "secret" not in texts


async def test_paragraphs_of_a_text_are_parted_by_empty_lines_and_keep_their_line_ends(read: Read) -> None:
    reading = await read(b"One\r\nline.\r\n\r\n\r\nAnother.\x0b\x7f\r\n", "a.txt")
    assert reading.texts() == ["One\nline.", "Another."]


ALIGNED = """Departments
Department    Headcount   Travel mode
----------    ---------   -----------
Sales                14   by car
Support               9   by plane,
                          economy only
Finance                   by train
All figures are from March and will be checked again in the summer.
"""


async def test_aligned_columns_of_a_text_are_rows_with_column_names(read: Read) -> None:
    assert brief((await read(ALIGNED.encode(), "a.txt")).blocks) == [
        ("Departments", "paragraph", 0),
        ("Department: Sales | Headcount: 14 | Travel mode: by car", "row", 0),
        ("Department: Support | Headcount: 9 | Travel mode: by plane, economy only", "row", 0),
        ("Department: Finance | Travel mode: by train", "row", 0),
        ("All figures are from March and will be checked again in the summer.", "paragraph", 0),
    ]


async def test_aligned_columns_count_chinese_characters_twice(read: Read) -> None:
    table = "部门      预算    人数\nSales     12万    14\n财务部    3万     4\n"
    assert (await read(table.encode(), "a.txt")).texts() == [
        "部门: Sales | 预算: 12万 | 人数: 14",
        "部门: 财务部 | 预算: 3万 | 人数: 4",
    ]


async def test_long_aligned_table_keeps_its_column_names(read: Read) -> None:
    rows = [f"Team{number:<10}{number:>8}   {'by bus or tram, ' * 4}" for number in range(1000)]
    texts = (await read("\n".join(["Team              Size   Travel", *rows]).encode(), "a.txt")).texts()
    assert len(texts) == len(rows)
    assert all(text.startswith("Team: Team") for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01 10:00  INFO   started\n2026-01-01 10:01  ERROR  stopped\n2026-01-01 10:02  INFO   started",
        "One thing ends.  Another begins.\nIt is late.  Nobody knows why it is.\nWe go home.  The end.",
        "count = 1      # of rows\ntotal = 2      # of columns\nlast = 3       # of cells",
    ],
)
async def test_lines_without_column_names_stay_text(read: Read, text: str) -> None:
    assert (await read(text.encode(), "a.txt")).texts() == [text]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("客户在五月签署了新的合同，并要求我们保留全部记录。", "gb18030"),
        ("客户在五月签署了新的合同，并要求我们保留全部记录。", "utf-8-sig"),
        ("請保留全部記錄，客戶在五月簽署了新的合同。", "big5"),
        ("Müller trank süßen Kaffee in Köln. Ça coûte très cher.", "latin-1"),
        ("日本語のテキスト、これはテストです。", "shift_jis"),
        ("Москва слезам не верит.", "cp1251"),
        ("客户 Müller 😀", "utf-16"),
    ],
)
async def test_a_text_is_decoded_as_it_was_written(read: Read, text: str, encoding: str) -> None:
    assert (await read(text.encode(encoding), "a.txt")).texts() == [text]


async def test_a_page_is_decoded_as_it_says_itself(read: Read) -> None:
    page = '<html><head><meta charset="iso-8859-2"></head><body><p>Łódź, żółć</p></body></html>'
    assert (await read(page.encode("iso-8859-2"), "a.html")).texts() == ["Łódź, żółć"]


async def test_an_utf8_text_with_one_broken_character_stays_utf8(read: Read) -> None:
    text = "客户的记录保留十年。" * 50
    assert (await read(text.encode() + b"\xff", "a.txt")).texts() == [text + "\ufffd"]


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (docx(), "a.pdf", "docx"),
        (xlsx(), "a.docx", "xlsx"),
        (pdf([("", [PROSE])]), "a.txt", "pdf"),
        (HTML.encode(), "a.csv", "html"),
        (MARKDOWN.encode(), "a.pdf", "text"),
        (MARKDOWN.encode(), "handbook", "markdown"),
        (b"a;b;c\n1;2;3\n4;5;6\n", "table", "csv"),
        (codecs.BOM_UTF8 + b"<html><p>x</p>", "page", "html"),
    ],
)
async def test_a_file_is_what_it_contains_not_what_it_is_called(
    read: Read, content: bytes, name: str, kind: str
) -> None:
    reading = await read(content, name)
    assert isinstance(reading.last, Finished)
    assert reading.last.format == kind
