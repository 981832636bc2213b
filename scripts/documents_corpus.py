"""A corpus of documents with questions, for `python -m bench documents`: 32 files in eight formats, made of the Python
and PostgreSQL documentation that Debian packages, with 143 questions and 40 follow-ups (documents_corpus.toml).

    python scripts/documents_corpus.py FOLDER

fetches the packages into FOLDER with `apt-get download`, unpacks them there, writes the files into FOLDER/files and the
questions beside them. `make eval-documents` runs it and measures. Nothing is installed.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

PLAN = Path(__file__).with_suffix(".toml")
NO_APT = "apt-get is not at hand: the corpus is made of Debian packages, so run this on Debian or in a container of it."
CLASSES = ("body", "sect1", "chapter", "appendix")
BODY = "|".join(('//div[@role="main"]', *(f'//div[@class="{each}"]' for each in CLASSES)))
HASHES = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### "}
MOST_CELL = 30_000  # characters; a sheet takes little more
ON_SLIDE = 6  # paragraphs
COLUMNS = ["Name", "Description"]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph or a row of a page; `cells` of a row, or of a term with what it means."""

    tag: str
    text: str
    cells: tuple[str, ...] = ()

    @property
    def is_heading(self) -> bool:
        return self.tag in HASHES


class NotMade(Exception):
    """Its text says in one sentence why there is no corpus."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where packages, files and questions go")
    plan = tomllib.loads(PLAN.read_text(encoding="utf-8"))
    for name, package in plan["packages"].items():
        parser.add_argument(f"--{name}", metavar="PACKAGE", default=package, help=f"instead of {package}")
    given = parser.parse_args()
    try:
        pages = {name: pages_of(getattr(given, name), given.folder) for name in plan["packages"]}
        path = made_corpus(plan, pages, given.folder / "files")
    except NotMade as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


def pages_of(package: str, folder: Path) -> Path:
    """The folder with the HTML of a package, fetched and unpacked if it is not there yet."""
    unpacked = folder / package
    if not unpacked.exists():
        run("dpkg-deb", "-x", str(fetched(package, folder)), str(unpacked))
    for found in sorted(unpacked.glob("usr/share/doc/*/html")):
        if found.is_dir() and not found.is_symlink():
            return found
    raise NotMade(f"{package} has no HTML in it: name another package, or delete {unpacked} if it is half unpacked.")


def fetched(package: str, folder: Path) -> Path:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotMade(NO_APT)
    folder.mkdir(parents=True, exist_ok=True)
    run("apt-get", "download", package, folder=folder)
    return max(folder.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)


def run(*command: str, folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise NotMade(f"`{' '.join(command)}` failed; is `apt-get update` due, or the package's name another? ({said})")


def made_corpus(plan: Mapping[str, Any], pages: Mapping[str, Path], folder: Path) -> Path:
    """Files and questions; where the questions are."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in plan["files"]:
        page = pages[file["package"]] / file["page"]
        if not page.is_file():
            raise NotMade(f"There is no page {file['page']} for {file['name']}: name a package of another version.")
        (folder / file["name"]).write_bytes(made_file(page, Path(file["name"]).suffix))
    path = folder / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines_of(plan)), encoding="utf-8")
    return path


def lines_of(plan: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    for file in plan["files"]:
        yield from ({**asked, "file": file["name"]} for asked in file["questions"])
    yield from plan["follow_ups"]


def made_file(page: Path, suffix: str) -> bytes:
    return page.read_bytes() if suffix == ".html" else WRITERS[suffix](list(blocks_of(page)))


def blocks_of(page: Path) -> Iterator[Block]:
    from lxml import html

    root = html.parse(str(page)).getroot()
    body = (root.xpath(BODY) or [root.body])[0]
    for element in body.iter(*HASHES, "p", "pre", "dt", "tr"):
        is_in_row = element.tag == "p" and next(element.iterancestors("td"), None) is not None
        text = element.text_content().strip() if element.tag == "pre" else flat(element)
        if text and not is_in_row:
            yield Block(element.tag, text, cells_of(element, text))


def cells_of(element: Any, text: str) -> tuple[str, ...]:
    if element.tag == "tr":
        return tuple(flat(cell)[:MOST_CELL] for cell in element)
    if element.tag == "dt":
        meaning = next(element.itersiblings("dd"), None)
        return text, "" if meaning is None else flat(meaning)[:MOST_CELL]
    return ()


def flat(element: Any) -> str:
    return " ".join(element.text_content().replace("¶", "").split())


def as_text(blocks: Sequence[Block]) -> bytes:
    return "\n\n".join(block.text for block in blocks).encode()


def as_markdown(blocks: Sequence[Block]) -> bytes:
    lines = (f"**{each.text}**" if each.tag == "dt" else HASHES.get(each.tag, "") + each.text for each in blocks)
    return "\n\n".join(lines).encode()


def as_pdf(blocks: Sequence[Block]) -> bytes:
    from fpdf import FPDF

    document = FPDF()
    document.add_page()
    for block in blocks:
        document.set_font("Helvetica", style="B" if block.is_heading else "", size=14 if block.is_heading else 10)
        text = block.text.encode("latin-1", "replace").decode("latin-1")  # the fonts of every PDF have no more
        document.multi_cell(0, 5, text, new_x="LMARGIN", new_y="NEXT")
        document.ln(2)
    return bytes(document.output())


def as_docx(blocks: Sequence[Block]) -> bytes:
    import docx

    document, file = docx.Document(), io.BytesIO()
    for block in blocks:
        if block.is_heading:
            document.add_heading(block.text, int(block.tag[1]))
        else:
            document.add_paragraph(block.text)
    document.save(file)
    return file.getvalue()


def as_pptx(blocks: Sequence[Block]) -> bytes:
    import pptx

    presentation, file = pptx.Presentation(), io.BytesIO()
    for title, paragraphs in slides_of(blocks):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = "\n".join(paragraphs)
    presentation.save(file)
    return file.getvalue()


def slides_of(blocks: Sequence[Block]) -> Iterator[tuple[str, list[str]]]:
    """A heading begins a slide; a long part goes on over several."""
    title, paragraphs = "…", list[str]()
    for block in blocks:
        if block.is_heading or len(paragraphs) == ON_SLIDE:
            if paragraphs or title != "…":
                yield title, paragraphs
            title, paragraphs = (block.text, []) if block.is_heading else ("…", [block.text])
        else:
            paragraphs.append(block.text)
    yield title, paragraphs


def as_csv(blocks: Sequence[Block]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(table_of(blocks))
    return file.getvalue().encode()


def as_xlsx(blocks: Sequence[Block]) -> bytes:
    from openpyxl import Workbook

    book, file = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("Table")
    for row in table_of(blocks):
        sheet.append(row)
    book.save(file)
    return file.getvalue()


def table_of(blocks: Sequence[Block]) -> Iterator[Sequence[str]]:
    return chain([COLUMNS], (block.cells for block in blocks if block.cells))


WRITERS: dict[str, Callable[[Sequence[Block]], bytes]] = {
    ".txt": as_text,
    ".md": as_markdown,
    ".pdf": as_pdf,
    ".docx": as_docx,
    ".pptx": as_pptx,
    ".csv": as_csv,
    ".xlsx": as_xlsx,
}

if __name__ == "__main__":
    sys.exit(main())
