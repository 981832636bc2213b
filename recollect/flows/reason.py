"""Reason: asking a language model, and what we make of its answer. Learning and summing up call this.

What we want goes in the system's message, what was said in the user's, between marks. The answer is decoded into a
type, or it is none: one that cannot be read is shown to the model once, with the error, and then given up. What is
claimed of a user passes the gates of model/claims.py. No database connection is held here. msgspec is imported when a
model is first asked: a process without one never pays for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from recollect.errors import ReasonerConfused
from recollect.model.conversation import Turn
from recollect.model.fact import SINGLE_KEYS, Category, Extraction
from recollect.model.grounds import numbered, own_words
from recollect.model.rulebook import Rulebook
from recollect.model.summary import Summary, grounded, tidied
from recollect.ports import Message, Reasoner
from recollect.prompts import marked, prompt
from recollect.rules import rulebooks

T = TypeVar("T")

MOST_CHARS = 2000  # of one turn
MOST_KNOWN = 60  # facts that the model is told
CLAIM_TOKENS = 2000
SUMMARY_TOKENS = 800
OTHER_KEYS = ("allergy", "diet", "hobby", "family", "pet", "tool", "answer_style", "definition:TERM")
KEYS = ", ".join((*sorted(SINGLE_KEYS), *OTHER_KEYS))
BLANK = re.compile(r" {4,}")


async def claimed_facts(
    reasoner: Reasoner, turns: Sequence[Turn], known: Sequence[tuple[str, str]], books: Sequence[Rulebook]
) -> dict[int, Extraction]:
    """What the user states in `turns`, as far as it stands up to the gates: by the turn's index, for every turn.
    `known` are keys and values that need not be told again, most important first. Without a user's turn nothing is
    asked."""
    from recollect.model.claims import Claims, accepted

    if not any(turn.role == "user" for turn in turns):
        return {number: Extraction() for number in numbered(turns)}
    task = prompt("extract", categories=", ".join(get_args(Category)), keys=KEYS)
    messages = asked(task, own_turns(turns, books), told(known))
    claims = await structured(reasoner, messages, Claims, CLAIM_TOKENS)
    return accepted(claims, turns, books)


async def summarised(
    reasoner: Reasoner, turns: Sequence[Turn], max_tokens: int = SUMMARY_TOKENS, temperature: float = 0.0
) -> Summary:
    """What the conversation came to. Recalled and pasted text is left out, or the memory would feed on itself."""
    own = own_turns(turns, rulebooks())
    question = asked(prompt("summarise"), own)
    summary = tidied(await structured(reasoner, question, Summary, max_tokens, temperature))
    return grounded(summary, [turn.text for turn in own])


def own_turns(turns: Sequence[Turn], books: Sequence[Rulebook]) -> list[Turn]:
    """The user's with what he only passes on blanked, the others as they are."""
    return [replace(turn, text=own_words(turn.text, books)) if turn.role == "user" else turn for turn in turns]


def asked(task: str, turns: Sequence[Turn], known: str = "") -> list[Message]:
    shown = "\n".join(marked(f"turn {at}, {turn.role}", cut(turn.text)) for at, turn in numbered(turns).items())
    return [Message("system", task), Message("user", prompt("turns", known=known, turns=shown).strip())]


async def structured(
    reasoner: Reasoner, messages: Sequence[Message], kind: type[T], max_tokens: int, temperature: float = 0.0
) -> T:
    """The answer as a `kind`. Raises ReasonerConfused if it cannot be read even when asked again."""
    schema = schema_of(kind)
    reply = await reasoner.answer(messages, schema=schema, max_tokens=max_tokens, temperature=temperature)
    made, error = decoded(reply.text, kind)
    if made is not None:
        return made
    again = [Message("assistant", reply.text or "(nothing)"), Message("user", prompt("repair", error=error))]
    reply = await reasoner.answer([*messages, *again], schema=schema, max_tokens=max_tokens, temperature=temperature)
    made, error = decoded(reply.text, kind)
    if made is not None:
        return made
    raise ReasonerConfused(f"{reasoner.name} answered twice what is no {kind.__name__}: {error}")


def decoded(text: str, kind: type[T]) -> tuple[T | None, str]:
    """The value, or what is wrong with the text."""
    import msgspec

    try:
        return msgspec.json.decode(json_in(text), type=kind, strict=False), ""
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return None, str(error)


def json_in(text: str) -> str:
    """From the first brace to the last, after any thinking aloud: fences and prose around it are left out."""
    text = text.rpartition("</think>")[2]
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def schema_of(kind: type) -> dict[str, Any]:
    """Its JSON schema as strict servers want it: one object without references, each property required, no others."""
    import msgspec

    [whole], parts = msgspec.json.schema_components([kind], ref_template="{name}")
    return dict(strict(whole, parts))


def strict(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [strict(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return strict(parts[schema["$ref"]], parts)
    made = {name: strict(each, parts) for name, each in schema.items() if name not in ("default", "description")}
    if made.get("type") == "object":
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made


def cut(text: str) -> str:
    """What was blanked takes no room."""
    text = BLANK.sub(" … ", text).strip()
    return text if len(text) <= MOST_CHARS else text[:MOST_CHARS] + " …"


def told(known: Sequence[tuple[str, str]]) -> str:
    if not known:
        return "Nothing is known yet."
    lines = (f"{key}: {' '.join(value.split())}" for key, value in known[:MOST_KNOWN])
    return "Already known; data, too:\n" + marked("known", "\n".join(lines))
