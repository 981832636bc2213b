"""Files made to harm whoever reads them: each with the name it comes under and the reasons that are right for it.

`finished` among the reasons means that the file may be read, because what is wrong with it does nothing.
"""

from __future__ import annotations

import codecs
import gzip
import io
import random
import struct
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from tests.providers.files.makers import (
    PROSE,
    changed,
    docx,
    pdf,
    pptx,
    raw_pdf,
    scanned_pdf,
    stream,
    unzipped,
    xlsx,
    zipped,
)

FINISHED = "finished"
NOISE = random.Random(3).randbytes(200_000)
PAGES = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"
PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << {} >> >>"
FONT = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
SHOWN = b"BT /F1 12 Tf 50 700 Td (Read me) Tj ET"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BILLION = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "ha">{LAUGHS}]>'
PASSWD = '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
SOUND = PASSWD.replace("SYSTEM", 'PUBLIC "-//x"')
ELSEWHERE = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="image" TargetMode="External" Target="http://127.0.0.1:9/x.png"/></Relationships>'
)


@dataclass(frozen=True, slots=True)
class Hostile:
    name: str
    make: Callable[[], bytes]
    right: tuple[str, ...]


def word(text: str, prolog: str = "", encoding: str = "utf-8") -> bytes:
    body = f'{prolog}<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>'
    return changed(docx(), word__document_dot_xml=body.encode(encoding))


def shared_strings(prolog: str, text: str) -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return changed(xlsx(), xl__sharedStrings_dot_xml=f'{prolog}<sst xmlns="{main}"><si><t>{text}</t></si></sst>')


def sheet(rows: str, dimension: str = "A1:XFD1048576") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    body = f'<worksheet xmlns="{main}"><dimension ref="{dimension}"/><sheetData>{rows}</sheetData></worksheet>'
    return changed(xlsx(), xl__worksheets__sheet1_dot_xml=body)


def cell(place: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>far away</t></is></c>'


def lying_size() -> bytes:
    """The directory says 100 bytes, the member has 50 million."""
    archive = bytearray(changed(docx(), word__document_dot_xml=b"<a>" + b" " * 50_000_000 + b"</a>"))
    at = archive.find(struct.pack("<I", 50_000_007))
    while at >= 0:
        archive[at : at + 4] = struct.pack("<I", 100)
        at = archive.find(struct.pack("<I", 50_000_007), at)
    return bytes(archive)


def overlapping() -> bytes:
    """Forty names in the directory for one and the same member."""
    single = zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": "<a/>", "x.bin": NOISE})
    end = single.rindex(b"PK\x05\x06")
    start = struct.unpack("<I", single[end + 16 : end + 20])[0]
    entry = single[single.rindex(b"PK\x01\x02") : end]
    more = b"".join(entry.replace(b"x.bin", b"%05d" % number) for number in range(40))
    directory = single[start:end] + more
    return single[:start] + directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 43, 43, len(directory), start, 0)


def flagged_encrypted() -> bytes:
    archive = bytearray(docx())
    at = archive.rfind(b"PK\x01\x02")
    archive[at + 8] |= 1
    return bytes(archive)


def broken_deflate() -> bytes:
    archive = bytearray(docx())
    at = archive.find(b"word/document.xml") + 60
    archive[at : at + 200] = NOISE[:200]
    return bytes(archive)


def one_page(content: bytes, resources: str = FONT, extra: str = "", *more: str | bytes) -> bytes:
    return raw_pdf(CATALOG, PAGES, PAGE.format(resources), stream(content, extra), *more)


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("../../evil")
        archive.addfile(member)
    return file.getvalue()


def nested_zip(depth: int) -> bytes:
    inner = bytes(1_000_000)
    for number in range(depth):
        inner = zipped({f"{number}{name}.zip": inner for name in "abcd"})
    return inner


ARCHIVES = {
    "bomb_by_total": Hostile(
        "a.docx", lambda: changed(docx(), word__media__a_dot_xml=bytes(120_000_000)), ("too_large_unpacked",)
    ),
    "bomb_by_ratio": Hostile(
        "a.docx", lambda: changed(docx(), word__media__a_dot_bin=bytes(60_000_000)), ("too_large_unpacked",)
    ),
    "bomb_under_the_ratio": Hostile("a.docx", lambda: word("a " * 7_000_000), ("too_much_memory", "corrupt")),
    "bomb_with_lying_sizes": Hostile("a.docx", lying_size, ("corrupt",)),
    "bomb_of_overlapping_members": Hostile("a.docx", overlapping, ("corrupt",)),
    "too_many_members": Hostile(
        "a.docx",
        lambda: zipped(unzipped(docx()) | {f"{n}": b"" for n in range(10_001)}),
        ("too_large_unpacked",),
    ),
    "zips_in_zips": Hostile("a.docx", lambda: nested_zip(6), ("unsupported",)),
    "a_zip_in_a_document": Hostile("a.docx", lambda: changed(docx(), word__a_dot_zip=nested_zip(5)), (FINISHED,)),
    "names_that_climb": Hostile(
        "../../etc/cron.d/a.docx",
        lambda: zipped(unzipped(docx()) | {"../../../../tmp/recollect-evil": "x", "/tmp/recollect-evil": "x"}),
        (FINISHED,),
    ),
    "no_main_part": Hostile("a.docx", lambda: zipped({"[Content_Types].xml": "<Types/>"}), ("unsupported",)),
    "two_main_parts": Hostile("a.docx", lambda: changed(docx(), xl__workbook_dot_xml="<a/>"), ("unsupported",)),
    "an_empty_zip": Hostile("a.docx", lambda: zipped({}), ("unsupported",)),
    "zip_magic_only": Hostile("a.docx", lambda: b"PK\3\4", ("corrupt",)),
    "half_a_document": Hostile("a.docx", lambda: docx()[:9_000], ("corrupt",)),
    "broken_deflate": Hostile("a.docx", broken_deflate, ("corrupt",)),
    "a_password_in_the_zip": Hostile("a.docx", flagged_encrypted, ("encrypted",)),
    "a_password_by_office": Hostile(
        "a.docx",
        lambda: bytes.fromhex("d0cf11e0a1b11ae1") + bytes(3000) + "EncryptedPackage".encode("utf-16-le"),
        ("encrypted",),
    ),
    "an_old_word_file": Hostile("a.docx", lambda: bytes.fromhex("d0cf11e0a1b11ae1") + NOISE, ("unsupported",)),
    "macros_in_word": Hostile("a.docm", lambda: changed(docx(), word__vbaProject_dot_bin=NOISE), ("macros",)),
    "macros_in_slides": Hostile("a.pptx", lambda: changed(pptx(), ppt__vbaProject_dot_bin=NOISE), ("macros",)),
    "macros_in_a_workbook": Hostile("a.xlsm", lambda: changed(xlsx(), xl__VBAPROJECT_dot_BIN=NOISE), ("macros",)),
    "a_binary_workbook": Hostile(
        "a.xlsb", lambda: zipped({"[Content_Types].xml": "<a/>", "xl/workbook.bin": NOISE}), ("unsupported",)
    ),
    "an_open_document": Hostile(
        "a.odt", lambda: zipped({"mimetype": "application/x", "content.xml": "<a/>"}), ("unsupported",)
    ),
    "billion_laughs_in_word": Hostile("a.docx", lambda: word("&l9;", BILLION), ("corrupt",)),
    "billion_laughs_in_utf16": Hostile("a.docx", lambda: word("&l9;", BILLION, "utf-16"), ("corrupt",)),
    "billion_laughs_in_utf7": Hostile(
        "a.docx", lambda: word("x", '<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE d+AD4-'), ("corrupt",)
    ),
    "billion_laughs_in_a_workbook": Hostile("a.xlsx", lambda: shared_strings(BILLION, "&l9;"), ("corrupt",)),
    "billion_laughs_in_slides": Hostile(
        "a.pptx", lambda: changed(pptx(), ppt__slides__slide1_dot_xml=BILLION + "<a>&l9;</a>"), ("corrupt",)
    ),
    "etc_passwd_in_word": Hostile("a.docx", lambda: word("&x;", PASSWD), ("corrupt",)),
    "etc_passwd_in_a_workbook": Hostile("a.xlsx", lambda: shared_strings(SOUND, "&x;"), ("corrupt",)),
    "etc_passwd_in_relations": Hostile(
        "a.docx", lambda: changed(docx(), word___rels__document_dot_xml_dot_rels=PASSWD + "<a>&x;</a>"), ("corrupt",)
    ),
    "a_doctype_behind_a_long_comment": Hostile(
        "a.docx", lambda: word("&x;", f"<!--{'x' * 70_000}-->{PASSWD[21:]}"), ("corrupt",)
    ),
    "a_picture_from_elsewhere": Hostile(
        "a.docx",
        lambda: changed(docx(), word___rels__footnotes_dot_xml_dot_rels=ELSEWHERE),
        (FINISHED,),
    ),
    "xml_that_is_not_closed": Hostile(
        "a.docx", lambda: changed(docx(), word__document_dot_xml="<w:document><w:p>"), ("corrupt",)
    ),
    "a_part_that_is_not_xml": Hostile("a.docx", lambda: changed(docx(), word__document_dot_xml=NOISE), ("corrupt",)),
    "xml_nested_deeply": Hostile(
        "a.docx", lambda: word("</w:t><w:x>" + "<w:x>" * 200_000 + "</w:x>" * 200_001 + "<w:t>"), ("corrupt", "empty")
    ),
    "a_sheet_that_claims_to_be_full": Hostile(
        "a.xlsx", lambda: sheet(f'<row r="1">{cell("A1")}</row><row r="2">{cell("XFD2")}</row>'), (FINISHED,)
    ),
    "a_row_far_below": Hostile(
        "a.xlsx",
        lambda: sheet(f'<row r="1">{cell("A1")}</row><row r="99999999999999">{cell("B99999999999999")}</row>'),
        ("too_slow", "corrupt"),
    ),
    "a_column_far_to_the_right": Hostile(
        "a.xlsx", lambda: sheet(f'<row r="1">{cell("ZZZZZZZZ1")}</row>'), ("corrupt", "too_much_memory", "too_slow")
    ),
    "millions_of_wide_rows": Hostile(
        "a.xlsx",
        lambda: sheet("".join(f'<row r="{n}">{cell(f"XFD{n}")}</row>' for n in range(1, 60_000))),
        (FINISHED, "too_slow", "too_large_unpacked"),
    ),
    "a_sheet_that_is_missing": Hostile(
        "a.xlsx",
        lambda: zipped({k: v for k, v in unzipped(xlsx()).items() if k != "xl/worksheets/sheet1.xml"}),
        ("corrupt", FINISHED),
    ),
    "slides_without_their_master": Hostile(
        "a.pptx", lambda: zipped({k: v for k, v in unzipped(pptx()).items() if "aster" not in k}), ("corrupt", FINISHED)
    ),
}

PDFS = {
    "pdf_magic_only": Hostile("a.pdf", lambda: b"%PDF-1.7\n", ("corrupt",)),
    "pdf_magic_and_noise": Hostile("a.pdf", lambda: b"%PDF-1.7\n" + NOISE, ("corrupt",)),
    "half_a_pdf": Hostile("a.pdf", lambda: pdf([("", [PROSE] * 9)] * 9)[:3_000], ("corrupt", FINISHED)),
    "a_password": Hostile("a.pdf", lambda: pdf([("", [PROSE])], password="secret"), ("encrypted",)),
    "a_scan": Hostile("a.pdf", scanned_pdf, ("scanned",)),
    "blank_pages": Hostile("a.pdf", lambda: pdf([("", [])] * 3), ("empty",)),
    "pages_in_a_circle": Hostile(
        "a.pdf", lambda: raw_pdf(CATALOG, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"), ("corrupt", "empty")
    ),
    "two_billion_pages": Hostile(
        "a.pdf", lambda: raw_pdf(CATALOG, PAGES.replace("t 1", "t 2000000000")), ("corrupt", "too_large_unpacked")
    ),
    "negative_pages": Hostile("a.pdf", lambda: raw_pdf(CATALOG, PAGES.replace("1 >>", "-7 >>")), ("corrupt", "empty")),
    "arrays_in_arrays": Hostile(
        "a.pdf", lambda: raw_pdf(CATALOG, PAGES, "[" * 200_000 + "]" * 200_000), ("corrupt", "empty")
    ),
    "dictionaries_in_the_catalog": Hostile(
        "a.pdf", lambda: raw_pdf("<< /Pages " + "<< /A " * 100_000 + ">>" * 100_000), ("corrupt", "empty")
    ),
    "a_table_of_places_that_points_to_itself": Hostile(
        "a.pdf", lambda: one_page(SHOWN).replace(b"/Root 1 0 R >>", b"/Root 1 0 R /Prev 9 >>"), (FINISHED, "corrupt")
    ),
    "a_content_that_unpacks_without_end": Hostile(
        "a.pdf",
        lambda: one_page(zlib.compress(zlib.compress(bytes(300_000_000))), FONT, "/Filter [/FlateDecode /FlateDecode]"),
        ("corrupt", "empty", "too_much_memory", "too_slow"),
    ),
    "text_that_unpacks_without_end": Hostile(
        "a.pdf",
        lambda: one_page(zlib.compress((SHOWN + b"\n") * 1_500_000), FONT, "/Filter /FlateDecode"),
        (FINISHED, "too_slow", "too_much_memory", "too_large_unpacked"),
    ),
    "a_picture_of_a_trillion_points": Hostile(
        "a.pdf",
        lambda: one_page(
            b"q 100 0 0 100 0 0 cm /I Do Q",
            "/XObject << /I 5 0 R >>",
            "",
            stream(b"x", "/Type /XObject /Subtype /Image /Width 1000000 /Height 1000000 /ColorSpace /DeviceRGB"
                   " /BitsPerComponent 8"),
        ),
        ("scanned", "corrupt"),
    ),
    "a_page_of_no_size": Hostile(
        "a.pdf", lambda: one_page(SHOWN).replace(b"[0 0 600 800]", b"[0 0 9e37 -9e37]"), (FINISHED, "empty", "corrupt")
    ),
    "a_form_that_draws_itself": Hostile(
        "a.pdf",
        lambda: one_page(
            b"/X Do",
            "/XObject << /X 5 0 R >>",
            "",
            stream(b"/X Do /X Do", "/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
                   " /Resources << /XObject << /X 5 0 R >> >>"),
        ),
        ("empty", "corrupt"),
    ),
    "an_outline_in_a_circle": Hostile(
        "a.pdf",
        lambda: one_page(SHOWN, FONT, "", "<< /First 6 0 R /Last 6 0 R /Count 1 >>",
                         "<< /Title (A) /Parent 5 0 R /Next 6 0 R /First 6 0 R /Dest [3 0 R /Fit] >>")
        .replace(b"/Pages 2 0 R >>", b"/Pages 2 0 R /Outlines 5 0 R >>"),
        (FINISHED,),
    ),
    "a_script_that_runs_when_opened": Hostile(
        "a.pdf",
        lambda: one_page(SHOWN).replace(
            b"/Pages 2 0 R >>", b"/Pages 2 0 R /OpenAction << /S /JavaScript /JS (while\\(1\\){}) >> >>"
        ),
        (FINISHED,),
    ),
}  # fmt: skip

TEXTS = {
    "nothing": Hostile("a.txt", lambda: b"", ("empty",)),
    "blanks_only": Hostile("a.txt", lambda: b" \n\t" * 9_000, ("empty",)),
    "a_mark_only": Hostile("a.txt", lambda: codecs.BOM_UTF8, ("empty",)),
    "noise": Hostile("a.txt", lambda: NOISE, ("not_text",)),
    "noise_without_nul": Hostile("a.txt", lambda: NOISE.replace(b"\0", b""), ("not_text",)),
    "nul_in_the_text": Hostile("a.txt", lambda: PROSE.encode() * 99 + b"\0", ("not_text",)),
    "control_characters": Hostile("a.txt", lambda: b"ab\1\2\3\4" * 900, ("not_text",)),
    "utf16_without_a_mark": Hostile("a.txt", lambda: PROSE.encode("utf-16-le"), ("not_text",)),
    "utf16_cut_in_a_character": Hostile("a.txt", lambda: (PROSE + "😀").encode("utf-16")[:-2], ("not_text",)),
    "utf32": Hostile("a.txt", lambda: PROSE.encode("utf-32"), ("not_text",)),
    "lone_surrogates": Hostile(
        "a.txt", lambda: PROSE.encode() + "\ud800".encode("utf-8", "surrogatepass") * 50, (FINISHED, "not_text")
    ),
    "overlong_utf8": Hostile("a.txt", lambda: PROSE.encode() + b"\xc0\x80" * 500, (FINISHED, "not_text")),
    "one_endless_line": Hostile("a.txt", lambda: b"x9 Kq" * 1_000_000, (FINISHED,)),
    "one_endless_word": Hostile("a.txt", lambda: b"x9Kq" * 1_000_000, (FINISHED,)),
    "a_table_of_too_many_lines": Hostile("a.csv", lambda: b"1,2,3,4,5\n" * 600_000, ("too_large_unpacked",)),
    "a_quote_never_closed": Hostile("a.csv", lambda: b'a,b\n1,"' + b"x,y\n" * 500_000, ("corrupt",)),
    "a_row_of_a_million_cells": Hostile("a.csv", lambda: b"a,b\n" + b"1," * 1_000_000, (FINISHED,)),
    "tags_in_tags": Hostile(
        "a.html", lambda: b"<html><body>" + b"<div>" * 300_000 + b"deep" + b"</div>" * 300_000, (FINISHED, "corrupt")
    ),
    "tables_in_tables": Hostile("a.html", lambda: b"<html>" + b"<table><tr><td>x" * 50_000, (FINISHED, "corrupt")),
    "scripts_only": Hostile("a.html", lambda: b"<html><script>alert('x')</script><style>p{}</style>", ("empty",)),
    "a_comment_never_closed": Hostile("a.html", lambda: b"<html><!-- " + b"x" * 2_000_000, ("empty", FINISHED)),
    "a_tag_of_a_million_attributes": Hostile(
        "a.html",
        lambda: b"<html><p " + b" ".join(b"a%d=1" % n for n in range(300_000)) + b">x</p>",
        (FINISHED, "empty", "too_slow"),
    ),
    "laughs_in_a_page": Hostile(
        "a.html", lambda: b"<html>" + BILLION.encode() + b"<p>&l9; read me</p>", (FINISHED,)
    ),
    "etc_passwd_in_a_page": Hostile(
        "a.html",
        lambda: b'<!doctype html SYSTEM "file:///etc/passwd"><p>&x; <img src="file:///etc/passwd">y</p>',
        (FINISHED,),
    ),
    "fences_without_end": Hostile("a.md", lambda: b"# A\n" + b"```\n~~~~\n" * 100_000, (FINISHED,)),
    "headings_only": Hostile("a.md", lambda: b"# A\n" * 200_000, (FINISHED,)),
    "comments_beyond_count": Hostile("a.html", lambda: b"<!-- -->" * 5_000 + b"<", (FINISHED, "empty")),
    "a_far_indented_table": Hostile("a.md", lambda: b"|a|b|\n" + b" " * 90_000 + b"x|-|\n", (FINISHED,)),
    "hashes_and_blanks": Hostile("a.md", lambda: b"#" + b" \t" * 45_000 + b"x #" + b" " * 90_000 + b"y\n", (FINISHED,)),
}  # fmt: skip

LIES = {
    "a_picture_called_pdf": Hostile("a.pdf", lambda: b"\x89PNG\r\n\x1a\n" + NOISE, ("unsupported",)),
    "a_program_called_docx": Hostile("a.docx", lambda: b"MZ" + NOISE, ("unsupported",)),
    "an_elf_called_text": Hostile("a.txt", lambda: b"\x7fELF" + NOISE, ("unsupported",)),
    "a_zip_called_pdf": Hostile("a.pdf", lambda: zipped({"a.txt": "x"}), ("unsupported",)),
    "a_gzip_called_csv": Hostile("a.csv", lambda: gzip.compress(PROSE.encode()), ("unsupported",)),
    "rtf_called_docx": Hostile("a.docx", lambda: b"{\\rtf1 hello}", ("unsupported",)),
    "a_tar_called_text": Hostile("a.txt", tar, ("not_text",)),
    "a_picture_that_is_also_a_script": Hostile("a.html", lambda: b"GIF89a/*<html>*/=1;alert(1)", ("unsupported",)),
    "pdf_magic_behind_noise": Hostile("a.pdf", lambda: NOISE[:500] + b"%PDF-1.7\n" + NOISE, ("not_text",)),
    "a_name_with_everything": Hostile("\0../..\n\ud800'; drop table.pdf" * 99, lambda: PROSE.encode(), (FINISHED,)),
}

ALL = ARCHIVES | PDFS | TEXTS | LIES
