"""Reading turns and questions: lexemes, flags, names, tokens, excerpts and ids; pure functions with lists."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Scope, Turn
from recollect.recall.excerpt import excerpt, split_passages
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.recall.question import read_question
from recollect.recall.sketch import Flag, flags, quoted, sketch, speaker_key, tsvector
from recollect.values.scope import user_scope_id, uuid7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The runners were running", {"runner": 1, "run": 1}),
        ("price 1,000.50 on 2026-01-05", {"price": 1, "1,000.50": 1, "2026-01-05": 1}),
        ("我对花生过敏", {"对花": 1, "花生": 1, "生过": 1, "过敏": 1}),
        ("你的猫", {"猫": 1}),
        ("iPhone手机", {"iphon": 1, "手机": 1}),
        ("the of and", {}),
        ("🎈 !? _", {}),
        ("x" * 200, {"x" * 64: 1}),
    ],
)
def test_lexemes(text: str, expected: dict[str, int]) -> None:
    assert dict(lexemes(text)) == expected


def test_a_turn_is_found_by_its_speaker_and_day_too() -> None:
    turn = Turn("user", "hello", speaker="Caroline", at=datetime(2026, 3, 9, tzinfo=UTC))

    assert {"'hello':1", "'carolin':1", "'2026':1", "'march':1", "'9':1"} <= set(sketch(turn).tsvector.split())
    assert sketch(turn).length == 5


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_what_is_quoted_can_be_unquoted(text: str) -> None:
    inside = re.fullmatch(r"'((?:[^'\\]|''|\\\\)*)'", quoted(text), re.DOTALL)

    assert inside is not None
    assert re.sub(r"''|\\\\", lambda pair: pair[0][0], inside[1]) == text


def test_postgresql_reads_our_tsvectors_as_we_meant_them(database: str) -> None:
    words = {"o'5": 1, "a\\b": 2, "c:d": 3, "'": 1, "\\": 1, "字": 4, "x y": 1, "&|!": 1}

    with psycopg.connect(database) as owner:
        literal = tsvector(Counter(words))
        rows = owner.execute("SELECT lexeme, cardinality(positions) FROM unnest(%s::tsvector)", [literal]).fetchall()
        for word in words:
            assert owner.execute("SELECT %s::tsvector @@ %s::tsquery", [literal, quoted(word)]).fetchone() == (True,)

    assert {row[0]: row[1] for row in rows} == words


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn("user", "hello"), Flag.USER),
        (Turn("assistant", "hello"), Flag(0)),
        (Turn("user", "why？"), Flag.USER | Flag.ASKS),
        (Turn("assistant", "I was there yesterday"), Flag.TIME),
        (Turn("assistant", "昨天下雨"), Flag.TIME),
        (Turn("user", "Always answer in French"), Flag.USER | Flag.INSTRUCTION),
        (Turn("user", "以后都用中文"), Flag.USER | Flag.INSTRUCTION),
        (Turn("assistant", "Always answer in French"), Flag(0)),
        (Turn("user", "I prefer tea"), Flag.USER | Flag.PREFERENCE),
        (Turn("user", "我喜欢茶"), Flag.USER | Flag.PREFERENCE),
        (Turn("user", "hello", high_value=True), Flag.USER | Flag.HIGH_VALUE),
    ],
)
def test_flags_of_a_turn(turn: Turn, expected: Flag) -> None:
    assert Flag(flags(turn)) == expected


@pytest.mark.parametrize(
    ("text", "first", "second", "when", "overview", "before"),
    [
        ("what is the code word?", False, False, False, False, False),
        ("when did I buy it?", True, False, True, False, False),
        ("what did you suggest?", False, True, False, False, False),
        ("could you tell me the code?", True, False, False, False, False),
        ("summarize everything", False, False, False, True, False),
        ("what was it last time?", False, False, False, False, True),
        ("我什么时候开会？", True, False, True, False, False),
        ("你说了什么", False, True, False, False, False),
        ("总结一下", False, False, False, True, False),
        ("上次的结果", False, False, False, False, True),
    ],
)
def test_what_a_question_asks_for(
    text: str, first: bool, second: bool, when: bool, overview: bool, before: bool
) -> None:
    read = read_question(text)

    assert (read.first_person, read.second_person, read.when, read.overview, read.before) == (
        first,
        second,
        when,
        overview,
        before,
    )


def test_words_about_the_request_are_searched_only_when_there_are_no_others() -> None:
    assert read_question("please tell me about the heron").lexemes == ("heron",)
    assert read_question("list the items").lexemes == ("list", "item")
    assert len(read_question(" ".join(f"word{n}" for n in range(500))).lexemes) == 48


def test_names_in_a_question_are_those_of_speakers() -> None:
    assert speaker_key("Mary Ann") in read_question("What did mary ann say?").names
    assert speaker_key("李小龙") in read_question("李小龙说了什么").names
    assert speaker_key("User") == speaker_key(None) == 0


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("hello there", 2, 2),
        ("The quick brown fox jumps over the lazy dog.", 9, 12),
        ("花生" * 50, 100, 160),
        ("🎈" * 10, 10, 40),
        ("a" * 90, 10, 10),
        ("def f(x):\n    return x + 1\n", 8, 16),
    ],
)
def test_tokens_are_estimated_within_reason(text: str, low: int, high: int) -> None:
    assert low <= count_tokens(text) <= high


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens_than_its_parts_less_one(one: str, two: str) -> None:
    assert count_tokens(one + two) <= count_tokens(one) + count_tokens(two) + 1


@given(st.text(min_size=1), st.integers(20, 200))
def test_an_excerpt_is_a_piece_of_the_text(text: str, size: int) -> None:
    piece = excerpt(text * 20, size, {"heron": 1.0})

    assert piece in text * 20
    assert len(piece) <= size * 1.8


@given(st.text(st.sampled_from("ab \n.。字"), min_size=1, max_size=2000), st.integers(20, 200))
def test_passages_cover_the_text_in_order(text: str, size: int) -> None:
    spans = split_passages(text, size)

    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(later[0] <= earlier[1] for earlier, later in pairwise(spans))


def test_an_excerpt_is_the_passage_whose_words_are_worth_most() -> None:
    text = "Nothing here. " * 40 + "The heron nests. " + "Nothing here. " * 40

    assert "The heron nests." in excerpt(text, 100, {"heron": 2.0, "noth": 0.1})


def test_ids_are_version_7_and_in_order_of_time() -> None:
    ids = [uuid7() for _ in range(1000)]

    assert {one.version for one in ids} == {7}
    assert {one.variant for one in ids} == {"specified in RFC 4122"}
    assert [one.int >> 80 for one in ids] == sorted(one.int >> 80 for one in ids)
    assert len(set(ids)) == 1000


def test_a_scope_s_id_depends_on_project_and_user_alone_and_never_changes() -> None:
    assert Scope("alex").id == Scope("alex", "monday").id == user_scope_id("default", "alex")
    assert Scope("alex").id == UUID("9aeda167-db16-5559-84b6-cff898998780")
    assert (
        len({Scope(u, project=p).id for u, p in [("a", "b"), ("b", "a"), ("a:b", "c"), ("b", "c:a"), ("u:a", "b")]})
        == 5
    )
