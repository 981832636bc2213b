"""Ranking without a database: frequencies, worth, fusion, reach and choice, with lists."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest

from recollect import Query
from recollect.recall.fuse import Candidates, Weights, compute_idf, fuse, scale_values, score_terms, unfold_frequencies
from recollect.recall.question import read_question
from recollect.recall.rank import choose
from recollect.recall.sketch import MAX_POSITIONS, Flag
from recollect.values.scope import ConversationId

START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def candidates(counts: list[list[int]], **columns: Any) -> Candidates:
    """Turns of session `monday` unless `conversation` says so; `counts` has a row per turn, a column per word."""
    size = len(counts)
    folded = [[sum(1 / j**2 for j in range(1, count + 1)) / (math.pi**2 / 6) for count in row] for row in counts]
    given: dict[str, Any] = {
        "conversations": [ConversationId(UUID(int=1)), ConversationId(UUID(int=2))],
        "sessions": ["monday", "tuesday"],
        "conversation": np.zeros(size, np.int64),
        "turn": np.arange(size, dtype=np.int32),
        "tokens": np.full(size, 10, np.float32),
        "length": np.full(size, 8, np.float32),
        "flags": np.full(size, int(Flag.USER), np.int32),
        "speaker": np.zeros(size, np.int32),
        "distinct": np.full(size, 8, np.float32),
        "said_at": START + np.arange(size),
        "cosine": np.full(size, np.nan, np.float32),
        "folded": np.array(folded, np.float32).reshape(size, len(counts[0]) if counts else 1),
    }
    return Candidates(**{**given, **{name: np.asarray(column) for name, column in columns.items()}})


def test_frequencies_are_unfolded_from_what_postgresql_s_ts_rank_makes_of_them(database: str) -> None:
    with psycopg.connect(database) as owner:
        rows = owner.execute(
            "SELECT n, ts_rank('{1,1,1,1}', ('a:' || string_agg(i::text, ','))::tsvector, 'a'::tsquery)"
            " FROM generate_series(1, %s) n, generate_series(1, n) i GROUP BY n ORDER BY n",
            [MAX_POSITIONS],
        ).fetchall()

    folded = np.array([row[1] for row in rows], np.float32)[:, None]

    assert unfold_frequencies(folded)[:, 0].tolist() == list(range(1, MAX_POSITIONS + 1))
    assert unfold_frequencies(np.zeros((1, 1), np.float32)).tolist() == [[0]]


def test_a_rare_word_is_worth_more_and_no_word_less_than_nothing() -> None:
    worth = compute_idf(np.array([1, 5, 10]), 10)

    assert worth[0] > worth[1] > worth[2] > 0


def test_more_of_a_word_counts_more_and_a_longer_turn_less() -> None:
    scores, _ = score_terms(np.array([[1.0], [2.0], [2.0]]), np.array([10.0, 10.0, 40.0]))

    assert scores[1, 0] > scores[0, 0]
    assert scores[1, 0] > scores[2, 0]


def test_nothing_at_all_can_be_scored() -> None:
    empty = candidates([])
    fused = fuse(empty, read_question("anything"), Weights())

    assert len(fused.total) == 0


@pytest.mark.parametrize(
    ("values", "scaled"),
    [
        ([], []),
        ([float("nan")] * 2, [0, 0]),
        ([1, 3, 2], [0, 1, 0.5]),
        ([5, 5], [0, 0]),
        ([float("nan"), -1, 1], [0, 0, 1]),
    ],
)
def test_values_are_scaled_to_one_and_what_is_missing_is_nothing(values: list[float], scaled: list[float]) -> None:
    assert scale_values(np.array(values, np.float32)).tolist() == scaled


def test_the_parts_add_up_to_the_total() -> None:
    found = candidates([[1, 0], [0, 0], [2, 1], [0, 1]], cosine=np.array([0.1, 0.9, np.nan, 0.3], np.float32))

    fused = fuse(found, read_question("code word"), Weights(recency=0.5))

    assert np.allclose(fused.total, np.sum(list(fused.parts.values()), axis=0))
    assert fused.parts["vector"][2] == 0


def test_neighbours_lend_their_words_within_a_conversation_and_not_across() -> None:
    found = candidates([[1], [0], [0], [0]], conversation=np.array([0, 0, 1, 1]), turn=np.array([4, 5, 6, 7]))

    lent = fuse(found, read_question("code"), Weights()).parts["neighbours"]

    assert lent[1] > 0
    assert lent[2] == lent[3] == 0


def test_a_gap_between_turns_separates_neighbours() -> None:
    found = candidates([[1], [0]], turn=np.array([4, 6]))

    assert fuse(found, read_question("code"), Weights()).parts["neighbours"].tolist() == [0, 0]


def test_who_is_asked_about_is_more_likely_to_have_said_it() -> None:
    found = candidates([[1], [1]], flags=np.array([int(Flag.USER), 0], np.int32))

    mine = fuse(found, read_question("which code did I name?"), Weights()).parts["speaker"]
    yours = fuse(found, read_question("which code did you name?"), Weights()).parts["speaker"]

    assert mine[0] > mine[1]
    assert yours[1] > yours[0]


@pytest.mark.parametrize(
    ("question", "reach", "session", "hits", "expected"),
    [
        ("code", "auto", "monday", 3, "session"),
        ("code", "auto", "monday", 2, "user"),
        ("code", "auto", None, 3, "user"),
        ("code", "auto", "friday", 3, "user"),
        ("code before", "auto", "monday", 3, "user"),
        ("code before", "session", "monday", 3, "session"),
        ("code", "user", "monday", 3, "user"),
    ],
)
def test_how_far_to_look(question: str, reach: Any, session: str | None, hits: int, expected: str) -> None:
    read = read_question(question)
    found = candidates([[1] * len(read.lexemes)] * hits)

    choice = choose(found, fuse(found, read, Weights()), read, Query(question, scope=reach), session, 10)

    assert choice.scope_used == expected
    assert (choice.widened is not None) == (reach == "auto" and session is not None and expected == "user")


@pytest.mark.parametrize(
    ("count", "cosine", "path"),
    [(1, 0.9, "hybrid"), (1, float("nan"), "fts"), (1, 0.01, "fts"), (0, 0.9, "vector"), (0, 0.01, "none")],
)
def test_the_path_names_the_arms_that_spoke(count: int, cosine: float, path: str) -> None:
    read = read_question("code")
    found = candidates([[count]], cosine=np.array([cosine], np.float32))

    choice = choose(found, fuse(found, read, Weights()), read, Query("code"), "monday", 10)

    assert (choice.path, len(choice.rows)) == (path, 0 if path == "none" else 1)


def test_one_more_than_asked_for_is_chosen_best_first() -> None:
    read = read_question("code")
    found = candidates([[n] for n in (1, 5, 2, 3)])

    choice = choose(found, fuse(found, read, Weights(before=0, after=0)), read, Query("code"), "monday", 2)

    assert (choice.rows.tolist(), choice.found) == ([1, 3, 2], 4)
