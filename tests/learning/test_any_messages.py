"""Whatever people write, one message after the other, learning reads it without an error."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from recollect.flows.learn import extract_turn, list_active
from recollect.learning.amendments import build_changes, reports_change
from recollect.learning.asked_keys import find_asked_keys, find_named_keys, is_everything
from recollect.learning.changes import find_outdated, find_successor, split_change
from recollect.learning.claim_lines import read_claims
from recollect.learning.claims import accept_claims
from recollect.learning.evidence import build_audit_entries, build_evidence, build_retractions, count_rejections
from recollect.learning.reconcile import Tail, extend, find_pointless, find_quoting, reconcile
from recollect.learning.rules import rulebooks
from recollect.learning.summary import summarize_by_quoting
from recollect.recall.answer_ranking import Relevance
from recollect.values.conversation import Turn
from recollect.values.memory import Evidence
from recollect.values.scope import ConversationId, ScopeId, uuid7
from recollect.values.work import Job

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
JOB = Job(ScopeId(uuid7()), ConversationId(uuid7()), "shop", "alex", "monday", 0, 0, 0, 0, 0, (), 1)
PARTS = st.sampled_from(
    (
        *("I", "my", "we", "they", "sister", "name is", "live in", "work at", "Ada", "Graz", "the bakery", "a boat"),
        *("now", "no longer", "used to", "not", "instead of", "over", "actually", "no,", "sorry,", "if", "would"),
        *("remember that", "forget that", "forget everything", "call me", "always", "I have to", "I finished", "done"),
        *("means", '"net"', "where are", "what is", "keys", "by Friday", "at 5", "1,000.50", "and", "but", "because"),
        *("我", "叫", "住在", "北京", "不", "了", "现在", "记住", "忘掉", "是", "吗", "不是", "而是"),
        *("。", "，", "？", "「", "」", ".", "?", "!", ",", ";", ":", "'", '"', "“", "”", "(", ")", "—", "..."),
        *("\n", "# ", "- ", "> ", "```", "| a | b |", '{"a": [1]}', "SELECT 1;", "<b>", "a.b/?c=d", "\t", "\x1b"),
        *("\u200b", "👍", "مرحبا", "İ", "ß"),
    )
)  # fmt: skip
PHRASES = st.lists(PARTS, max_size=14).map(" ".join) | st.lists(PARTS, max_size=8).map("".join) | st.text(max_size=60)
STATEMENTS = st.sampled_from(  # remembered as they are
    (
        "We keep the boat keys with Mr Adeyemi",
        "Choir practice is on Tuesdays at seven because of the scouts",
        "Our design review is on Fridays at 2",
        "I must file the tax return by Friday",
        "我们的设计评审在每周五下午两点",
    )
)
MESSAGES = STATEMENTS | PHRASES | st.tuples(STATEMENTS, PHRASES).map(" ".join)
DIALOGUES = st.lists(MESSAGES, min_size=1, max_size=6)


@given(MESSAGES)
def test_any_message_can_be_read(text: str) -> None:
    for turn in (Turn("user", text), Turn("assistant", text)):
        found = extract_turn(turn)
        assert all(text[slice(*fact.span)] for fact in found.facts)
    find_asked_keys(text, rulebooks())
    find_named_keys(text, rulebooks())
    is_everything(text, rulebooks())


@given(DIALOGUES)
def test_any_messages_can_be_learned_one_after_the_other(texts: list[str]) -> None:
    turns = [Turn("user", text, index=n, at=MONDAY + timedelta(minutes=n)) for n, text in enumerate(texts)]
    read = [extract_turn(turn) for turn in turns]
    said = [
        each
        for turn, found in zip(turns, read, strict=True)
        for each in build_evidence(JOB, turn, found.facts, "rules")
    ]
    said += [each for turn in turns for each in end_memories(turn, said)]

    learned = reconcile((), said)

    extend(Tail(), said)
    build_audit_entries(learned, (), "rules")
    count_rejections(read, said, (), learned)
    find_pointless(said)
    find_quoting(said)
    summarize_by_quoting(turns, None, rulebooks())


def end_memories(turn: Turn, said: Sequence[Evidence]) -> list[Evidence]:
    """Return what a turn ends of what was said."""
    known, found = reconcile((), said).put, list[Evidence]()
    for order in extract_turn(turn).commands:
        named = find_named_keys(order.text, rulebooks())
        found += build_retractions(JOB, turn, order.text, extract_turn(Turn("user", order.text)).facts, known, named)
    here = [each for each in said if each.turn == turn.index]
    reports_change(turn.text)
    return found + build_changes(JOB, turn, list_active((), said, turn), here)


@given(DIALOGUES, st.booleans())
def test_any_messages_can_be_compared(texts: list[str], is_asked: bool) -> None:
    relevance = [Relevance(1 - n / 3, float(n % 3 - 1)) for n in range(len(texts))] if is_asked else []

    for change in find_outdated(texts, relevance, question=texts[-1]):
        assert change.message < change.by
        assert 0 < change.probability <= 1
    for text in texts:
        _, after = split_change(text, texts[0])
        assert after.removeprefix("… ") in text
        find_successor(text, texts[0])


@given(st.lists(MESSAGES, min_size=1, max_size=3), st.lists(PHRASES, max_size=3), st.integers(0, 30))
def test_any_answer_of_a_model_can_be_checked(texts: list[str], answers: list[str], start: int) -> None:
    turns = [Turn("user", text, index=n, at=MONDAY) for n, text in enumerate(texts)]
    quoted = [f"{n}, decision, name, {text[start:]}" for n, text in enumerate(texts)]

    claims = read_claims("\n".join([*quoted, *answers]), turns)

    for turn, found in accept_claims(claims, turns, rulebooks()).items() if claims else ():
        assert all(texts[turn][slice(*fact.span)] for fact in found.facts)


def test_a_value_of_marks_alone_is_no_statement() -> None:
    turns = [Turn("user", "# ", index=0, at=MONDAY)]

    claims = read_claims("0, decision, name, #", turns)

    assert claims is not None
    assert [each.reason for each in accept_claims(claims, turns, rulebooks())[0].rejected] == ["weak"]
