"""Check the wording of README, docs/, docstrings and comments against words and phrases that must not appear.

Pages are checked against the whole list. In code some of its words are terms ("hosts", "room"), so only IN_CODE counts.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .pages import FENCE, ROOT, name

# Generated from texts in the code, and the changelog, which is history.
NOT_CHECKED = {"docs/reference/cli.md", "docs/reference/http.md", "docs/reference/settings.md", "CHANGELOG.md"}
INLINE_CODE = re.compile(r"`[^`\n]*`")

# Phrase and suggestion. Phrases are matched as whole words, ignoring case and line breaks.
PHRASES = {
    "he": '"they", or name the role',
    "him": '"them", or name the role',
    "his": '"their", or name the role',
    "himself": '"themselves"',
    "whoever": '"anyone who", or name the role',
    "whosoever": '"anyone who", or name the role',
    "nobody": '"no user", or say what does not happen',
    "somebody": '"a user", or name the role',
    "anew": '"again", or "rebuild"',
    "be it": '"whether ... or ..."',
    "is none": 'say what it is: "does not count as"',
    "are none": 'say what they are: "do not count as"',
    "speaks to": '"is relevant to"',
    "speak to": '"are relevant to"',
    "speaks of": '"mentions"',
    "speak of": '"mention"',
    "spoken of": '"mentioned"',
    "speaks for": '"acts for"',
    "of which": "split the sentence",
    "of whom": "split the sentence",
    "told": '"said", "returned" or "passed"',
    "stands": '"is", or "stands for" as "means"',
    "stand beside": '"are next to"',
    "beside": '"next to" or "in addition to"',
    "besides": '"also"',
    "door": '"server", "interface" or "route"',
    "doors": '"server", "interfaces" or "routes"',
    "room": '"page"',
    "rooms": '"pages"',
    "hosts": '"applications", or "servers" for machines',
    "the host": '"the application", or "the server" for a machine',
    "shelf": '"namespace"',
    "diary": '"request log" or "metrics"',
    "trail": '"audit log"',
    "chore": '"background task"',
    "chores": '"background tasks"',
    "errand": '"background task"',
    "upkeep": '"maintenance"',
    "walls": '"row-level security"',
    "the wall": '"row-level security"',
    "mend": '"fix"',
    "mended": '"fixed"',
    "turned away": '"rejected" or "not remembered"',
    "take along": '"include" or "export"',
    "takes along": '"includes" or "exports"',
    "take it along": '"export"',
    "at hand": '"current" or "available"',
    "asks back": '"asks for clarification"',
    "is to be had": '"is available"',
    "to be had": '"available"',
    "who comes": "name the caller",
    "looks after": '"maintains"',
    "in so many words": '"explicitly"',
    "outright": '"explicitly" or "directly"',
    "the way of": '"how ... works"',
    "rests on": '"is based on"',
    "dearer": '"more expensive"',
    "dearest": '"most expensive"',
    "for ever": '"forever", or "never expires"',
    "sums up": '"summarises"',
    "sum up": '"summarise"',
    "applications that talk": '"chat and agent applications"',
}
IN_CODE = frozenset(
    ("he", "him", "his", "himself", "whoever", "whosoever", "anew", "be it", "spoken of", "speaks to", "for ever")
)
PATTERN = re.compile(
    r"\b(?:" + "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(PHRASES, reverse=True)) + r")\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    place: str
    line: int
    phrase: str
    suggestion: str

    def __str__(self) -> str:
        return f'{self.place}:{self.line}: "{self.phrase}": use {self.suggestion}'


def find_phrases(texts: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Yield each phrase of the list in the texts, with its place, its line in the text and the suggestion."""
    for place, text in texts:
        for match in PATTERN.finditer(text):
            phrase = " ".join(match[0].split())
            yield Finding(place, text.count("\n", 0, match.start()) + 1, phrase, PHRASES[phrase.lower()])


def checked_texts() -> Iterator[tuple[str, str]]:
    """Yield README and the pages of docs/ without their code, which keeps its own words; line numbers stay the same."""
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        if name(page) not in NOT_CHECKED:
            yield name(page), blank_code(page.read_text(encoding="utf-8"))


def blank_code(text: str) -> str:
    without_blocks = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    return INLINE_CODE.sub("``", without_blocks)


def test_documentation_uses_plain_wording() -> None:
    findings = list(find_phrases(checked_texts()))
    assert not findings, "reword these:\n" + "\n".join(map(str, findings))


def code_texts() -> Iterator[tuple[str, str]]:
    """Yield each docstring and comment of the package, without what is quoted as code."""
    for path in sorted((ROOT / "recollect").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name(path)} {getattr(node, 'name', '')}", blank_code(ast.get_docstring(node) or "")
        yield from ((f"{name(path)}:{line}", blank_code(text)) for line, text in list_comments(path))


def list_comments(path: Path) -> Iterator[tuple[int, str]]:
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def test_docstrings_and_comments_use_plain_wording() -> None:
    findings = [each for each in find_phrases(code_texts()) if each.phrase.lower() in IN_CODE]
    assert not findings, "reword these:\n" + "\n".join(map(str, findings))


@pytest.mark.parametrize("phrase", PHRASES)
def test_each_phrase_is_found(phrase: str) -> None:
    assert [finding.phrase for finding in find_phrases([("page.md", f"First, {phrase} last.")])] == [phrase]


def test_finding_names_place_line_and_suggestion() -> None:
    [finding] = find_phrases([("page.md", "A title\n\nAsk Whoever wrote it.")])
    assert str(finding) == 'page.md:3: "Whoever": use "anyone who", or name the role'


def test_phrase_is_found_across_a_line_break() -> None:
    assert [finding.line for finding in find_phrases([("page.md", "one\nbe\nit two")])] == [2]


def test_parts_of_words_are_not_found() -> None:
    assert list(find_phrases([("page.md", "The history of this outdoor standard is online.")])) == []


def test_code_is_not_checked() -> None:
    text = "Say `nobody`.\n\n```text\nnobody\n```\nNobody."
    assert [finding.line for finding in find_phrases([("page.md", blank_code(text))])] == [6]
