"""Ask a language model and check its answer: extract facts, summarize, rewrite follow-ups.

Instructions go into the system message, the conversation into the user message, between markers. An answer that cannot
be decoded is sent back once with the error, and then given up. A rewritten follow-up is used only if it keeps the words
of the question and adds none that the user did not write; otherwise the rules of recall/followup.py rewrite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from recollect.errors import ReasonerConfused, ReasonerFailed
from recollect.learning.quote_location import blank_foreign_text, number_turns
from recollect.learning.rulebook import Rulebook
from recollect.learning.rules import rulebooks
from recollect.learning.summary import Summary, keep_grounded, tidy_summary
from recollect.ports import Message, Reasoner, WindowedReasoner
from recollect.prompts import load_examples, mark_data, render_prompt
from recollect.recall.followup import MAX_CHARS, MAX_EARLIER, OPENING_WORDS, OPENING_ZH, is_aside, make_standalone
from recollect.recall.lexemes import lexemes
from recollect.recall.word_lists import CJK_FUNCTION
from recollect.values.conversation import Turn
from recollect.values.memory import Extraction
from recollect.values.query import MAX_QUERY_CHARS
from recollect.values.text import CJK_CHARACTER, is_cjk

T = TypeVar("T")

MAX_TURN_CHARS = 2000  # of one turn
MIN_TURN_CHARS = 200
MOST_KNOWN = 60  # facts that the model is told
CLAIM_TOKENS = 600
TURN_CLAIM_TOKENS = 50
SUMMARY_TOKENS = 800
USUAL_WINDOW = 8192
TASK_TOKENS = 2500  # of the instructions, the examples and the known facts
MIN_ROOM = 500
ONE_OBJECT = "Answer with the requested JSON object, with nothing before or after it."
FACT_LINES = "Write one line per fact, or none."
BLANK = re.compile(r" {4,}")


async def extract_facts(
    reasoner: Reasoner, turns: Sequence[Turn], known: Sequence[tuple[str, str]], books: Sequence[Rulebook]
) -> dict[int, Extraction]:
    """Return what the user states in `turns`, by the turn's index, for every turn, as far as it passes the checks.
    `known` are keys and values that the model need not repeat, most important first. Without a user's turn the model is
    not asked."""
    from recollect.learning.claim_lines import read_claims
    from recollect.learning.claims import accept_claims

    if not any(turn.role == "user" for turn in turns):
        return {number: Extraction() for number in number_turns(turns)}
    own = blank_foreign_turns(turns, books)
    shown = Message("user", format_known(known) + format_turns(own))
    messages = [Message("system", render_prompt("extract")), *load_examples("extract_examples"), shown]
    # Small models do not stop by themselves.
    most = min(CLAIM_TOKENS, TURN_CLAIM_TOKENS * (1 + sum(turn.role == "user" for turn in turns)))
    reply = await reasoner.answer(messages, max_tokens=most)
    claims = read_claims(reply.text, own)
    if claims is None:
        error = "no line has a number, a category, a key and a value"
        reply = await reasoner.answer(repair(messages, reply.text, error, FACT_LINES), max_tokens=most)
        claims = read_claims(reply.text, own)
    if claims is None:
        raise ReasonerConfused(f"{reasoner.name} answered twice what is no list of facts: {reply.text[:80]!r}")
    return accept_claims(claims, turns, books)


async def get_room(reasoner: Reasoner) -> int:
    """Return the tokens that turns may take in a prompt for learning."""
    window = await reasoner.window() if isinstance(reasoner, WindowedReasoner) else 0
    return max((window or USUAL_WINDOW) - CLAIM_TOKENS - TASK_TOKENS, MIN_ROOM)


async def summarize_turns(
    reasoner: Reasoner, turns: Sequence[Turn], max_tokens: int = SUMMARY_TOKENS, temperature: float = 0.0
) -> Summary:
    """Return a summary of the conversation. Recalled and pasted text is left out, so that memory does not feed on
    itself."""
    own = blank_foreign_turns(turns, rulebooks())
    room = await get_room(reasoner) // max(len(own), 1)
    question = build_messages(render_prompt("summarise"), own, max(MIN_TURN_CHARS, min(MAX_TURN_CHARS, 2 * room)))
    summary = tidy_summary(await ask_structured(reasoner, question, Summary, max_tokens, temperature))
    return keep_grounded(summary, [turn.text for turn in own])


def blank_foreign_turns(turns: Sequence[Turn], books: Sequence[Rulebook]) -> list[Turn]:
    """Return the turns; in the user's, text that they only pass on is blanked."""
    return [replace(turn, text=blank_foreign_text(turn.text, books)) if turn.role == "user" else turn for turn in turns]


def build_messages(task: str, turns: Sequence[Turn], chars: int = MAX_TURN_CHARS) -> list[Message]:
    told = render_prompt("turns", turns=format_turns(turns, chars))
    return [Message("system", task), Message("user", told)]


def format_turns(turns: Sequence[Turn], chars: int = MAX_TURN_CHARS) -> str:
    return "\n".join(
        mark_data(f"turn {at}, {turn.role}", shorten(turn.text, chars)) for at, turn in number_turns(turns).items()
    )


def repair(messages: Sequence[Message], answer: str, error: str, form: str) -> list[Message]:
    """Return the conversation with an answer that could not be read, and what was wrong with it."""
    again = Message("user", render_prompt("repair", error=error, form=form))
    return [*messages, Message("assistant", answer or "(nothing)"), again]


async def ask_structured(
    reasoner: Reasoner, messages: Sequence[Message], kind: type[T], max_tokens: int, temperature: float = 0.0
) -> T:
    """Return the answer as a `kind`. Raises ReasonerConfused if it cannot be decoded, even when asked again."""
    schema = build_schema(kind)
    reply = await reasoner.answer(messages, schema=schema, max_tokens=max_tokens, temperature=temperature)
    made, error = decode_reply(reply.text, kind)
    if made is not None:
        return made
    again = repair(messages, reply.text, error, ONE_OBJECT)
    reply = await reasoner.answer(again, schema=schema, max_tokens=max_tokens, temperature=temperature)
    made, error = decode_reply(reply.text, kind)
    if made is not None:
        return made
    raise ReasonerConfused(f"{reasoner.name} answered twice what is no {kind.__name__}: {error}")


def decode_reply(text: str, kind: type[T]) -> tuple[T | None, str]:
    """Return the value, or what is wrong with the text."""
    try:
        return msgspec.json.decode(find_json(text), type=kind, strict=False), ""
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return None, str(error)


def find_json(text: str) -> str:
    """Return the text from the first brace to the last, after any reasoning; fences and prose around it are dropped."""
    text = text.rpartition("</think>")[2]
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def build_schema(kind: type) -> dict[str, Any]:
    """Return the JSON schema as strict servers want it: one object without references, each property required, no
    others."""
    [whole], parts = msgspec.json.schema_components([kind], ref_template="{name}")
    return dict(make_strict(whole, parts))


def make_strict(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [make_strict(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return make_strict(parts[schema["$ref"]], parts)
    made = {name: make_strict(each, parts) for name, each in schema.items() if name not in ("default", "description")}
    if made.get("type") == "object":
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made


def shorten(text: str, chars: int = MAX_TURN_CHARS) -> str:
    """Return the text within the limit; blanked parts take no room."""
    text = BLANK.sub(" … ", text).strip()
    return text if len(text) <= chars else text[:chars] + " …"


def format_known(known: Sequence[tuple[str, str]]) -> str:
    if not known:
        return ""
    lines = (f"{key}: {' '.join(value.split())}" for key, value in known[:MOST_KNOWN])
    return "Already known; data, too:\n" + mark_data("known", "\n".join(lines)) + "\n\n"


REWRITE_TOKENS = 400


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A model's rewrite of a follow-up."""

    question: str


async def rewrite_followup(reasoner: Reasoner | None, question: str, previous: Sequence[str]) -> str:
    """Return the question rewritten so that it can be understood alone. `previous` are the user's earlier messages,
    oldest first."""
    ruled = make_standalone(question, previous)[:MAX_QUERY_CHARS]
    if reasoner is None or not previous or len(question) > MAX_CHARS or is_aside(question):
        return ruled
    earlier = [each for each in previous[-MAX_EARLIER:] if each.strip()]
    turns = [Turn("user", each) for each in (*earlier, question)]
    try:
        made = await ask_structured(reasoner, build_messages(render_prompt("rewrite"), turns), Rewrite, REWRITE_TOKENS)
    except ReasonerFailed:
        return ruled
    text = " ".join(made.question.split())
    return text[:MAX_QUERY_CHARS] if is_faithful(text, question, earlier) else ruled


def is_faithful(text: str, question: str, previous: Sequence[str]) -> bool:
    """Return whether the rewrite keeps the question's words and adds none that were not said."""
    if not text or len(text) > 2 * MAX_CHARS:
        return False
    said = list_words(question).union(*map(list_words, previous))
    own = list_words(OPENING_ZH.sub("", question)) - OPENING_WORDS  # without words that only mark a follow-up
    return own <= list_words(text) <= said


def list_words(text: str) -> set[str]:
    """Return the lexemes of a text; of Chinese the characters, because a rewrite moves them."""
    if not is_cjk(text):
        return set(lexemes(text))
    plain = CJK_FUNCTION.sub(" ", text)
    return {*CJK_CHARACTER.findall(plain), *lexemes(CJK_CHARACTER.sub(" ", plain))}
