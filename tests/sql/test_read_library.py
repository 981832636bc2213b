"""Questions to a library whose keys nobody declared: which ways between tables mean something, what a verb dates, whose
name a name is. One line for each kind of mistake that was made on databases not seen before."""

from __future__ import annotations

import pytest
from drafted_library import asked, library, read

from recollect.sql.explain import explained

RIGHT: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("loans per subject",), [("Cooking", 3), ("Fiction", 1)]),  # by the copy, not by all that its branch has
    (("how many copies are in each branch",), [("Central", 2), ("Harbour", 2)]),
    (("how many different books were borrowed in 2024",), [(1,)]),  # lent then, not published then
    (("how many books were published in 2024",), [(2,)]),
    (("how many readers borrowed something in 2023",), [(1,)]),
    (("how many loans were placed in 2024",), [(3,)]),  # a date, although a status is called so
    (("which readers never borrowed a book",), [("Di", "Fox")]),
    (("books of Dune",), [("Ice",)]),  # the writer's, although one is called so itself
    (("how many loans did the reader Ann Lee make",), [(3,)]),
    (("how many loans were made by readers from Central",), [(1,)]),  # who did it, in one number
    (("how many fines have not been paid",), [(1,)]),
    (("loans by membership type",), [("student", 3), ("senior", 1)]),
    (("the two oldest books",), [("Ice", 1980), ("Soup", 1999)]),
    (("how many copies are there", "for the Harbour branch"), [(2,)]),
    (("loans by home branch",), [("Harbour", 3), ("Central", 1)]),
    (("how many students are there",), [(2,)]),  # readers, though loans name them
    (("how many fines were never paid",), [(1,)]),
    (("what share of fines are paid",), [(50,)]),
    (("most common subject",), [("Fiction", 2)]),
]


@pytest.mark.parametrize(("chain", "rows"), RIGHT, ids=[" / ".join(chain) for chain, _ in RIGHT])
def test_a_question_gets_the_rows_it_asks_for(chain: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert asked(*chain) == rows


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("loans by branch", "branch"),  # of the copy, or of the reader
        ("readers who never paid a fine", "not paid"),  # one that is not paid, or none that is
        ("events per subject", "event"),  # they share a branch, and nothing else
        ("loans with events", "events"),
        ("how many books were borrowed in 2024", "how many books"),  # each once, or each time
        ("how many books were bought in 2024", "bought"),  # nothing here says so
        ("how many fines were paid in 2024", "paid"),  # only the day of the fine is kept
        ("how many branches in 2023", "in 2023"),  # not when its clerk was hired
        ("readers from Cooking", "Cooking"),  # books are about it, nobody is from there
        ("for the Harbour branch", ""),
        ("in 2022", ""),
        ("how many loans did Ann Lee make", "Ann Lee"),  # a writer, and a reader
        ("what do readers like", "what"),
        ("what did readers borrow in 2024", "what"),
    ],
)
def test_what_cannot_be_told_is_asked_back(question: str, term: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert term in [each.term for each in reading.clarifications]


@pytest.mark.parametrize(
    ("question", "lookups"),
    [
        ("what do people think of our shop", ()),
        ("books called Think", ("Think",)),
        ("books called 'think'", ("think",)),
        ("books about r2d2", ("r2d2",)),
    ],
)
def test_only_what_is_written_as_a_name_is_looked_up_in_columns_not_shown(
    question: str, lookups: tuple[str, ...]
) -> None:
    assert set(lookups) == set(read(question).lookups)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("how many copies are there", "The number of book copies."),
        ("loans per subject", "The number of loans by book subject."),
        ("fines", "Each fine."),
    ],
)
def test_an_explanation_counts_things_and_not_rows(question: str, words: str) -> None:
    reading = read(question)
    assert reading.frame is not None
    assert explained(reading.frame, *library()) == words
