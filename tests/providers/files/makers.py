"""Files as people make them, made here by the programs' own libraries; and the first step of breaking them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable

PROSE = "Records are kept for ten years. After that the archive deletes them, unless a court has asked for them. "


def made(save: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def pdf(pages: Iterable[tuple[str, list[str]]], password: str = "") -> bytes:
    """Each page a heading, which is in the outline too, and paragraphs."""
    from fpdf import FPDF

    document = FPDF()
    if password:
        document.set_encryption(owner_password="owner", user_password=password)
    for heading, paragraphs in pages:
        document.add_page()
        document.set_font("helvetica", size=11)
        if heading:
            document.start_section(heading)
            document.cell(0, 10, heading, new_x="LMARGIN", new_y="NEXT")
        for paragraph in paragraphs:
            document.multi_cell(0, 6, paragraph, new_x="LMARGIN", new_y="NEXT")
            document.ln(4)
    return bytes(document.output())


def report_pdf(rows: Iterable[tuple[str, ...]]) -> bytes:
    """A page without an outline: a title in large type, text, a bold line and a table."""
    from fpdf import FPDF

    document = FPDF()
    document.add_page()
    for size, style, text in ((18, "", "Annual report"), (11, "", PROSE * 4), (11, "B", "Sales by region")):
        document.set_font("helvetica", style=style, size=size)
        document.multi_cell(0, size / 2, text, new_x="LMARGIN", new_y="NEXT")
    document.set_font("helvetica", size=11)
    with document.table() as table:
        for cells in rows:
            row = table.row()
            for cell in cells:
                row.cell(cell)
    document.multi_cell(0, 6, "Figures are in millions.", new_x="LMARGIN", new_y="NEXT")
    return bytes(document.output())


def scanned_pdf() -> bytes:
    from fpdf import FPDF
    from PIL import Image

    document = FPDF()
    document.add_page()
    document.image(Image.new("L", (200, 280), 200), w=180)
    return bytes(document.output())


def docx() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Handbook", 0)
    document.add_heading("Retention", 1)
    document.add_paragraph(PROSE)
    document.add_paragraph("Invoices", style="List Bullet")
    document.add_heading("Exceptions", 2)
    table = document.add_table(rows=0, cols=2)
    for cells in (("Kind", "Years"), ("Invoice", "10"), ("Letter", "6")):
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    document.add_paragraph("客户的记录保留十年。")
    return made(document.save)


def pptx() -> bytes:
    import pptx

    presentation = pptx.Presentation()
    for number in (1, 2):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Topic {number}"
        slide.placeholders[1].text = f"First point {number}\nSecond point {number}"
        slide.notes_slide.notes_text_frame.text = f"Say it slowly {number}."
    inches = pptx.util.Inches
    table = slide.shapes.add_table(2, 2, inches(1), inches(1), inches(4), inches(1)).table
    for place, text in {(0, 0): "Region", (0, 1): "Revenue", (1, 0): "North", (1, 1): "12"}.items():
        table.cell(*place).text = text
    return made(presentation.save)


def xlsx(rows: int = 3) -> bytes:
    from datetime import datetime

    from openpyxl import Workbook

    book = Workbook(write_only=True)
    for title in ("Customers", "Archive"):
        sheet = book.create_sheet(title)
        sheet.append(["Customer", "Since", "Revenue", None, "Open"])
        for number in range(rows):
            sheet.append([f"{title} {number}", datetime(2024, 5, 1 + number % 28), number * 1.5, None, True])
    return made(book.save)


def zipped(members: dict[str, bytes | str], level: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", level) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def unzipped(archive: bytes) -> dict[str, bytes | str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def changed(archive: bytes, **parts: bytes | str) -> bytes:
    """With members replaced or added; `__` in a name stands for a slash, `_dot_` for a dot."""
    names = {name.replace("__", "/").replace("_dot_", "."): content for name, content in parts.items()}
    return zipped(unzipped(archive) | names)


def raw_pdf(*objects: str | bytes, root: int = 1) -> bytes:
    """Objects 1, 2, ... with a correct table of places."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        body = content.encode() if isinstance(content, str) else content
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, root, start)
    return bytes(out)


def stream(content: bytes, extra: str = "") -> bytes:
    return f"<< /Length {len(content)} {extra} >>\nstream\n".encode() + content + b"\nendstream"
