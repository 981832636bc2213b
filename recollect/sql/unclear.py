"""What is asked back: a question and suggestions for each word that is vague or unknown. Called by reading.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from recollect.sql.context import Context
from recollect.sql.lexer import stem_key
from recollect.sql.naming import many, words_of
from recollect.sql.phrases import phrases
from recollect.sql.sketch import Sketch

QUESTIONS = {
    "temporal": "Which period does “{}” mean?",
    "quantitative": "“{}” by what, and from which number on?",
    "state": "Which condition makes one “{}”?",
    "aggregation": "Which figure should “{}” show?",
    "entity": "Whom or what does “{}” mean?",
}


@dataclass(frozen=True, slots=True)
class Clarification:
    """`category`: temporal, quantitative, state, aggregation, entity, unknown."""

    term: str
    question: str
    suggestions: tuple[str, ...] = ()
    category: str = "unknown"


def about_vague(context: Context, vague: Sequence[tuple[str, str]]) -> list[Clarification]:
    return [
        Clarification(
            word, QUESTIONS.get(category, QUESTIONS["entity"]).format(word), suggestions(context, category), category
        )
        for word, category in dict.fromkeys(vague)
    ]


def suggestions(context: Context, category: str) -> tuple[str, ...]:
    if category == "temporal":
        return ("the last 30 days", "this month", "this year")
    if category in ("quantitative", "aggregation"):
        names = list(dict.fromkeys(measure.names[0] for measure in context.model.measures))
        return tuple(f"by {name}" if category == "quantitative" else f"total {name}" for name in names[:5])
    if category == "state":
        return states(context)
    return tuple(entity.names[0] for entity in context.model.entities[:6])


def states(context: Context) -> tuple[str, ...]:
    """What may tell one state from another: the values of a status, or when somebody was last there."""
    tables = context.mentioned or frozenset(e.table for e in context.model.entities)
    found = [
        f"{column.name} = {value}"
        for table in context.catalog.tables if table.name in tables
        for column in table.columns if words_of(column.name)[-1:] in (("status",), ("state",))
        for value in column.values[:4]
    ]  # fmt: skip
    since = [
        f"{moment.names[0]} in the last 30 days"
        for moment in context.model.moments
        if moment.table in tables and set(moment.names[0].split()) & {"login", "seen", "activity", "logon"}
    ]
    people = phrases().events["person"]
    own = [
        f"{many(e.names[0])} with an order in the last 30 days"
        for e in context.model.entities
        if e.table in context.mentioned and stem_key(e.names[0]) in people
    ]
    return tuple(dict.fromkeys((*since, *found, *(own if context.events("commerce") else ()))))[:5]


def about_unknown(context: Context, words: Sequence[str]) -> list[Clarification]:
    model = context.model
    named = [
        *(e.names for e in model.entities),
        *(d.names for d in model.dimensions),
        *(m.names for m in model.measures),
    ]
    names = {name for each in named for name in each}
    return [
        Clarification(
            word,
            f"I do not know what “{word}” means here.",
            tuple(get_close_matches(word.lower(), names, 3)),
            "unknown",
        )
        for word in words
    ]


def lookups_of(sketch: Sketch, unknown: Sequence[str]) -> tuple[str, ...]:
    """Runs of words that nobody knows: they may be a value, whole or word by word. One word alone must be written as a
    name: "think" is hardly the song."""
    runs: list[list[str]] = [[]]
    for piece in sketch.pieces:
        if piece.text in unknown:
            runs[-1].append(piece.text)
        elif runs[-1]:
            runs.append([])
    whole = [" ".join(run) for run in runs if run]
    quoted = {piece.text for piece in sketch.pieces if piece.is_quoted}
    words = [word for run in runs for word in run]
    return tuple(each for each in dict.fromkeys((*whole, *words)) if each in quoted or is_written_as_name(each))


def is_written_as_name(text: str) -> bool:
    return " " in text or not text.islower() or any(letter.isdigit() for letter in text)
