"""Quoted: the parts of a turn that its user passes on and does not say: code, quotations, recalled text, pasted data.

They are blanked, not cut, so that the rest keeps its place. Learning from recalled text would feed the memory with
itself; learning from a quotation would put another's words into the user's mouth.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from recollect.model.fact import Span
from recollect.model.rulebook import Rulebook, compiled

BLOCK = re.compile(r"```.*?(?:```|\Z)|<([a-z_][\w-]*)(?: [^<>]*)?>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
LINE = re.compile(r"^[ \t]*(?:>|\||//|/\*|@\w+\().*$|^.*(?:[{}]|\);|\w\(.*\):)[ \t]*$", re.MULTILINE)
QUOTATION = re.compile(
    r'"[^"\n]+"|“[^“”]+”|「[^「」]+」|『[^『』]+』|《[^《》]+》' r"|(?:(?<=\s)|(?<=^))'[^'\n]{12,}'(?=[\s.,!?]|$)"
)
# What is not longer than this is a term in quotation marks, such as "active".
TERM_WORDS = 3
TERM_CHARS = 24
TERM_IDEOGRAPHS = 6


def quoted_spans(text: str, books: Collection[Rulebook]) -> Iterator[Span]:
    for pattern in (BLOCK, LINE, *(compiled(book.injected) for book in books)):
        yield from (found.span() for found in pattern.finditer(text))
    yield from (found.span() for found in QUOTATION.finditer(text) if not is_term(found[0][1:-1]))


def is_term(quoted: str) -> bool:
    most = TERM_CHARS if quoted.isascii() else TERM_IDEOGRAPHS
    return len(quoted) <= most and len(quoted.split()) <= TERM_WORDS


def blanked(text: str, spans: Collection[Span]) -> str:
    for start, end in spans:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text
