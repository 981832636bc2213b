"""Chunking: blocks in, chunks out, one at a time. Memory is bounded by one block and one chunk.

A chunk has at most `size` tokens. It ends at the end of a block unless it would be less than half full. A heading
starts a new chunk if the last is at least half full, and never ends one. The next chunk repeats up to `overlap` tokens
of whole rows, list items or sentences, but nothing from before a heading. Ranges are exact: the canonical text
(values/document.py) from `start` to `end` is the chunk's text. A text that is too long for one chunk is split at the
end of a sentence or line; a long sentence between words; a long word between characters as a reader sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from recollect.recall.excerpt import find_whole_character
from recollect.recall.lexemes import count_tokens
from recollect.recall.sentences import END
from recollect.values.document import Block, Chunk, get_separator, is_blank

MAX_HEADING = 200  # characters of a heading in a path
MAX_LEAD = 1_000  # characters of the row that names the columns


@dataclass(slots=True)
class Piece:
    """A block or a part of one, and its place."""

    text: str
    before: str  # what joins it to the piece before it
    start: int  # of the text, in the canonical text
    tokens: int  # with the joint
    block: Block
    path: tuple[str, ...]
    lead: str


@dataclass(slots=True)
class Packing:
    """The chunk being filled. To chunk blocks in batches, call `take` for each and then `finish`."""

    size: int
    overlap: int
    held: list[Piece] = field(default_factory=list)
    tokens: int = 0  # of what is held; the chunk's own count is never more
    old: int = 0  # how many of the pieces held are repeated from the chunk before
    made: int = 0
    at: int = 0  # the end of the last block in the canonical text
    last: Block | None = None
    open: list[tuple[int, str]] = field(default_factory=list)  # headings
    path: tuple[str, ...] = ()
    lead: str = ""

    def __post_init__(self) -> None:
        if self.size < 2 or not 0 <= self.overlap <= self.size // 2:
            raise ValueError(f"a chunk of {self.size} tokens cannot overlap the next by {self.overlap}")

    def take(self, block: Block) -> Iterator[Chunk]:
        if is_blank(block.text):
            return
        before = get_separator(self.last, block) if self.last else ""
        self.note(block)
        if block.kind == "heading" and self.is_half_full():
            yield from self.close(0, 0)
        start = self.at + len(before)
        # Of a text longer than any chunk just more than `size`.
        is_bounded = len(block.text) <= self.size * MAX_CHARS
        tokens = (count_tokens(block.text) if is_bounded else self.size + 1) + len(before)
        if self.tokens + tokens > self.size >= tokens and self.is_half_full():
            yield from self.close(self.overlap, tokens)
        if self.tokens + tokens <= self.size:
            self.hold(Piece(block.text, before, start, tokens, block, self.path, self.lead))
        else:
            yield from self.take_in_pieces(block, before, start)
        self.at, self.last = start + len(block.text), block

    def take_in_pieces(self, block: Block, before: str, start: int) -> Iterator[Chunk]:
        for low, high, tokens in split_pieces(block.text, max(1, self.size - len(before))):
            tokens += len(before)
            if self.tokens + tokens > self.size:
                yield from self.close(self.overlap, tokens)
            self.hold(Piece(block.text[low:high], before, start + low, tokens, block, self.path, self.lead))
            before = ""

    def finish(self) -> Iterator[Chunk]:
        yield from self.chunk(self.held, self.old)

    def note(self, block: Block) -> None:
        """Update the path of headings and the row of column names."""
        if block.kind == "heading":
            level = max(1, block.level)
            self.open = [each for each in self.open if each[0] < level]
            self.open.append((level, shorten(" ".join(block.text.split()), MAX_HEADING)))
            self.path = tuple(text for _, text in self.open)
        if block.kind != "row":
            self.lead = ""
        elif block.level == 1:
            self.lead = shorten(block.text, MAX_LEAD)

    def hold(self, piece: Piece) -> None:
        self.held.append(piece)
        self.tokens += piece.tokens

    def close(self, overlap: int, coming: int) -> Iterator[Chunk]:
        """Yield the chunk and keep what the next one begins with, as far as the `coming` tokens leave room."""
        headings = list(takewhile(lambda piece: piece.block.kind == "heading", reversed(self.held)))[::-1]
        full = self.held[: len(self.held) - len(headings)]
        yield from self.chunk(full, self.old)
        kept = headings if headings else select_repeated(full, overlap)
        if not full or sum(piece.tokens for piece in kept) + coming > self.size:
            yield from self.chunk(headings)
            kept = []
        self.held, self.old = kept, 0 if headings else len(kept)
        self.tokens = sum(piece.tokens for piece in kept)

    def chunk(self, held: list[Piece], old: int = 0) -> Iterator[Chunk]:
        """Yield one chunk of these pieces without blanks at its ends; none if all but the `old` pieces are blank."""
        if all(is_blank(piece.text) for piece in held[old:]):
            return
        whole = held[0].text + "".join([piece.before + piece.text for piece in held[1:]])
        text = whole.strip()
        first, start = held[0], held[0].start + len(whole) - len(whole.lstrip())
        yield Chunk(
            index=self.made,
            text=text,
            start=start,
            end=start + len(text),
            page=first.block.page,
            page_end=held[-1].block.page,
            headings=next((piece for piece in held if piece.block.kind != "heading"), first).path,
            lead=first.lead if first.block.level != 1 else "",
            tokens=count_tokens(text),
            breaks=tuple(find_page_breaks(held, start)),
        )
        self.made += 1

    def is_half_full(self) -> bool:
        return self.tokens * 2 >= self.size


def find_page_breaks(held: list[Piece], start: int) -> Iterator[int]:
    """Yield where each page after the first begins; a page without text begins where the next one does."""
    page = held[0].block.page or 0
    for piece in held:
        for _ in range(page, piece.block.page or 0):
            yield max(piece.start - start, 0)
        page = max(page, piece.block.page or 0)


def select_repeated(full: list[Piece], overlap: int) -> list[Piece]:
    """Return the last whole pieces that fit into the overlap, or the last sentences of the last piece; never
    everything."""
    kept: list[Piece] = []
    room = overlap
    for piece in reversed(full):
        room -= piece.tokens
        if room < 0 or piece.block.kind == "heading":
            break
        kept.insert(0, piece)
    if len(kept) == len(full):
        return []
    return kept or take_ending(full[-1], overlap)


def take_ending(piece: Piece, overlap: int) -> list[Piece]:
    """Return the last sentences of a piece; a row is repeated whole or not at all."""
    if piece.block.kind in ("row", "heading") or overlap < 1:
        return []
    at = find_tail(piece.text, overlap)
    text = piece.text[at:]
    return [Piece(text, "", piece.start + at, count_tokens(text), piece.block, piece.path, piece.lead)] if text else []


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: find_whole_character(text, most)]


MAX_CHARS = 8  # per token: limits a piece of text with few tokens, such as a run of blanks
SAMPLE = 400  # characters from which the length of a piece is guessed
BLANK = re.compile(r"\s+")
PLAIN = "\u02ff"  # no character up to here joins the one before it


def find_sentence_ends(text: str) -> Iterator[int]:
    """Yield where sentences end, and the end of the text."""
    for found in END.finditer(text):
        if found.end() < len(text) and is_between(text, found.end()):
            yield found.end()
    yield len(text)


def split_pieces(text: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges that cover the text, each a sentence or a part of one with at most `most` tokens, and their
    tokens."""
    start = 0
    for end in find_sentence_ends(text):
        while start < end:
            cut, tokens = find_furthest_cut(text, start, end, most)
            yield start, cut, tokens
            start = cut


def find_furthest_cut(text: str, start: int, end: int, most: int) -> tuple[int, int]:
    """Return the end, or the last good place before it where the piece has at most `most` tokens, and the tokens."""
    stop = min(end, start + most * MAX_CHARS)
    if stop - start > SAMPLE:
        share = count_tokens(text[start : start + SAMPLE]) / SAMPLE
        stop = min(stop, start + max(1, int(most / max(share, 0.01))))
    while (tokens := count_tokens(text[start:stop])) > most and stop - start > 1:
        stop = start + max(1, min(stop - start - 1, int((stop - start) * most / tokens * 0.98)))
    if stop == end:
        return end, tokens
    cut = find_word_end(text, start, stop)
    return cut, tokens if cut == stop else count_tokens(text[start:cut])


def find_word_end(text: str, start: int, stop: int) -> int:
    """Return the place after the last blank in the second half of the range; otherwise a place between two characters;
    otherwise `stop`."""
    middle = (start + stop) // 2
    for found in reversed(list(BLANK.finditer(text, middle, stop))):
        if is_between(text, found.end()):
            return found.end()
    whole = find_whole_character(text, stop)
    return whole if whole > start else stop


def find_tail(text: str, most: int) -> int:
    """Return where the last sentences begin that have at most `most` tokens together; without one, the last words;
    otherwise the end of the text."""
    low = max(0, len(text) - most * MAX_CHARS)
    ends = [end for end in (low + found.end() for found in END.finditer(text[low:])) if end < len(text)]
    words = [found.end() for found in BLANK.finditer(text, max(low, len(text) - most * 4))]
    for start in (*ends, *words[:: max(1, len(words) // 8)]):
        if is_between(text, start) and 0 < count_tokens(text[start:]) <= most:
            return start
    return len(text)


def is_between(text: str, at: int) -> bool:
    """Whether a cut at this place leaves characters whole."""
    return at >= len(text) or text[at] <= PLAIN or find_whole_character(text, at) == at
