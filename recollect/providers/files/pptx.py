"""Slides: the title a heading, text and tables in order, notes last. A slide counts as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from recollect.model.document import Block
from recollect.providers.files.source import Source
from recollect.providers.files.table import row_blocks

MOST_NESTED = 20  # groups within groups


def read(source: Source) -> Iterator[Block]:
    import pptx

    slides = pptx.Presentation(source.file).slides
    source.total, source.unit = len(slides), "pages"
    for number, slide in enumerate(slides, 1):
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            yield Block(" ".join(title.text_frame.text.split()), "heading", 1, number)
        yield from shape_blocks((shape for shape in slide.shapes if not is_same(shape, title)), number)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            yield Block(notes.text, page=number)
        source.done = number


def shape_blocks(shapes: Iterable[Any], page: int, depth: int = 0) -> Iterator[Block]:
    for shape in shapes:
        if shape.has_text_frame:
            yield from text_blocks(shape, page)
        elif shape.has_table:
            yield from row_blocks(([cell.text for cell in row.cells] for row in shape.table.rows), page)
        elif depth < MOST_NESTED and hasattr(shape, "shapes"):
            yield from shape_blocks(shape.shapes, page, depth + 1)


def text_blocks(shape: Any, page: int) -> Iterator[Block]:
    """In a placeholder, more than one paragraph is a list."""
    paragraphs = shape.text_frame.paragraphs
    is_list = shape.is_placeholder and len(paragraphs) > 1
    for paragraph in paragraphs:
        yield Block(paragraph.text, "list" if is_list else "paragraph", page=page)


def is_same(shape: Any, title: Any) -> bool:
    return title is not None and shape.shape_id == title.shape_id
