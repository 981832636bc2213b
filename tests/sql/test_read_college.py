"""Questions to a college: which of two ways to a table a noun means, what "current" is said of, a value that is also a
word of time, and money words that name what nobody keeps."""

from __future__ import annotations

import pytest
from drafted_college import asked, college, read

from recollect.sql.explain import explained
from recollect.sql.frame import Frame

RIGHT: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("number of enrolments per course", "leave out History courses"), [("Cells", 2), ("Plants", 1)]),
    (("average points per course", "by department instead"), [("Biology", 3.0), ("History", 1.0)]),
    (("how many learners took courses in the History department",), [(1,)]),  # whatever their own department is
    (("how many enrolments in Spring or Fall 2024",), [(3,)]),  # of that year, both
    (("how many learners study Biology",), [(1,)]),  # the verb only joins the two
    (("which learners took Cells",), [("Ann",), ("Bo",)]),
    (("which department offers Rome",), [("History",)]),
    (("learners in the Biology department", "how many study History"), [(2,)]),
    (("average current salary",), [(200.0,)]),  # the pay that has not ended; who left says nothing about it
    (("total days of sick absences in 2024", "and annual absences?"), [(10,)]),  # a kind, and no row for each year
]


@pytest.mark.parametrize(("chain", "rows"), RIGHT, ids=[" / ".join(chain) for chain, _ in RIGHT])
def test_a_question_gets_the_rows_it_asks_for(chain: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert asked(*chain) == rows


@pytest.mark.parametrize(
    "question",
    [
        "enrolments by department",  # of the course, or of the learner
        "total commission per tutor",  # no amount here is one
        "average bonus of the tutors",
        "total fees by tutor",
        "how many learners study",  # a verb that joins nothing is a condition
        "how many studying learners are there",
        "how many learners quit Biology",  # and one that is more than a link is never passed over
        "how many enrolments in Biology or Spring",  # two columns: one of them will do, and that is not asked for here
    ],
)
def test_what_cannot_be_told_is_asked_back(question: str) -> None:
    reading = read(question)
    assert reading.frame is None
    assert reading.clarifications


def test_two_ways_that_nothing_decides_between_are_both_named() -> None:
    reading = read("enrolments by department")
    assert reading.clarifications[0].suggestions == (
        "department of the learner",
        "department of the course of the section",
    )


def test_the_year_before_two_periods_is_asked_about_and_they_survive_being_stored() -> None:
    last = read("total days of absences").frame
    both = read("just 2021 and 2023", last).frame
    assert both is not None
    assert Frame.from_data(both.to_data()) == both
    assert " or from 2023-01-01" in explained(both, *college())
    assert read("and the year before?", both).frame is None
