"""The space of matters: questions and statements of one matter are near each other, whatever their words."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.learning.changes import Vectors, find_outdated, rate_matters
from recollect.learning.matters import load_projection, project
from recollect.providers.local import LocalEmbedder
from recollect.recall.answer_ranking import Relevance, list_words


def embed(*texts: str) -> Vectors:
    words = list({*texts, *(word for text in texts for word in list_words(text))})
    return dict(zip(words, LocalEmbedder().embed_now(words), strict=True))


def test_projection_is_small_and_of_unit_length() -> None:
    projection, mean = load_projection()
    vectors = project(LocalEmbedder().embed_now(["where do I live?", "we moved to Sheffield"]))

    assert projection.shape[0] == len(mean)
    assert projection.size <= 150_000
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)


@pytest.mark.parametrize(
    ("question", "same", "other"),
    [
        ("what do I do for work?", "I drive a tram for the city", "my sister has three cats"),
        ("where do I live?", "we rent a flat in Porto", "I am allergic to peanuts"),
        ("我住在哪里？", "我们搬到苏州了", "我对花生过敏"),
    ],
)
def test_statement_is_nearer_to_the_question_of_its_matter(question: str, same: str, other: str) -> None:
    near, far = rate_matters([same, other], embed(question, same, other), question)

    assert near > far


def test_without_vectors_all_matters_are_as_similar() -> None:
    assert len({*rate_matters(["I drive a tram", "I have a cat"], None, "what do I do?")}) == 1


def test_matter_of_the_question_supports_a_change() -> None:
    said = ["I take sertraline 50mg every evening", "the doctor raised it, the dose is 100 now"]
    relevance = [Relevance(1.0), Relevance(0.5)]
    vectors = embed(*said, "what dose of sertraline do I take?", "what is my favourite colour?")

    asked = find_outdated(said, relevance, vectors, "what dose of sertraline do I take?")
    unrelated = find_outdated(said, relevance, vectors, "what is my favourite colour?")

    assert asked[0].probability > max([0.0, *(change.probability for change in unrelated)])
