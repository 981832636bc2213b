"""Changes of mind: which earlier statement a later message replaces or ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.learning.changes import LIKELY, find_ended, find_outdated, find_successor, split_change
from recollect.recall.answer_ranking import Relevance
from recollect.values.memory import Memory
from recollect.values.scope import MemoryId, uuid7

CHANGED = (
    ("I work at the bakery on Quay Street", "I left the bakery, now I drive a tram for the city"),
    ("Choir practice is on Tuesdays at seven", "they moved choir practice to Thursdays because of the scouts"),
    ("我在广告公司做文案", "文案我不干了，上个月跳槽去了出版社当编辑"),
)
UNCHANGED = (
    ("I work at the bakery on Quay Street", "if I worked at a tram depot instead of the bakery, I would earn more"),
    ("Choir practice is on Tuesdays at seven", "what is a good warm-up for altos?"),
    ("I drive a Skoda Octavia", "nice weather today"),
    ("我在广告公司做文案", "今天中午吃了面"),
    ("my rent is 850 euros now", "I quit the hospital, I'm at a private clinic now"),
    ("we open at eight", "actually, I changed my mind about the sofa"),
    ("我养了一只猫叫豆豆", "我现在不在那家公司了，去了新公司"),
)


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_later_message_outdates_earlier_statement(old: str, new: str) -> None:
    [change] = find_outdated([old, new])

    assert (change.message, change.by) == (0, 1)
    assert change.probability > 2 * LIKELY


@pytest.mark.parametrize(("old", "new"), UNCHANGED)
def test_hypothesis_question_or_other_matter_changes_nothing(old: str, new: str) -> None:
    assert find_outdated([old, new]) == []


def test_only_the_statement_about_the_matter_is_outdated() -> None:
    [change] = find_outdated(
        [
            "I am a carpenter. My brother sells flowers in Galway.",
            "my brother sold the flowers shop in Galway, he drives now",
        ]
    )

    assert change.statement == "My brother sells flowers in Galway."


def test_last_of_several_changes_holds() -> None:
    said = [
        "the wedding budget is 18,000 euros",
        "we raised the wedding budget to 21,000 euros now",
        "the wedding budget changed again, it is 23,000 euros now",
    ]

    first = next(change for change in find_outdated(said) if change.message == 0)

    assert first.by == 2


def test_message_about_other_people_changes_nothing_whatever_its_cues() -> None:
    said = ["My sister works as a vet in Graz", "Sold the Volvo last weekend, got a Kia instead"]

    assert find_outdated(said, [Relevance(1.0), Relevance(-1.0)]) == []


def test_question_supports_a_message_that_shares_no_word() -> None:
    said = ["I take sertraline 50mg", "the psychiatrist bumped me up, it is 100 now"]

    before = find_outdated(said)
    after = find_outdated(said, [Relevance(1.0), Relevance(0.9)])

    assert after[0].probability > max([LIKELY, *(change.probability for change in before)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My brother is in Norwich", "we moved to Sheffield over the weekend, third floor"),
        ("I live in Porto, near the river", "my sister moved to Braga, near the river"),
        ("我住在杭州", "我弟弟搬到苏州了"),
    ],
)
def test_people_are_not_mixed_up(old: str, new: str) -> None:
    assert find_outdated([old, new], [Relevance(1.0), Relevance(0.8)]) == []


def test_pronoun_means_who_was_spoken_of() -> None:
    [change] = find_outdated(["my sister Yvonne is a nurse", "Yvonne quit, she's a yoga teacher now, not a nurse"])

    assert change.message == 0


@pytest.mark.parametrize(
    ("text", "old", "shown"),
    [
        ("pottery was full so I'm doing bookbinding instead", "I take pottery", "… so I'm doing bookbinding instead"),
        ("we're staying home now, the drive is long", "We go to Trier", "we're staying home now, the drive is long"),
    ],
)
def test_only_what_is_over_is_cut_from_a_quotation(text: str, old: str, shown: str) -> None:
    assert split_change(text, old)[1] == shown


def test_pronoun_never_takes_the_place_of_a_value() -> None:
    assert find_successor("I'm not vegetarian any more, I eat fish now", "vegetarian") is None
    assert find_successor("left Barclays and joined Monzo", "Barclays") == "Monzo"


def remembered(statement: str) -> Memory:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    return Memory(MemoryId(uuid7()), "fact", "fact", statement, 0.9, 0.4, "inferred", "rules", "active", at)


def test_a_statement_ends_if_a_message_on_the_same_matter_changes_it() -> None:
    known = [
        remembered("my physio is on Tuesdays at 5"),
        remembered("our pottery course has 6 evenings"),
        remembered("We keep the boat keys with Mr Adeyemi"),
    ]
    assert find_ended("physio moved to Thursdays at 6", known) == known[:1]
    assert find_ended("I had physio and it was fine", known) == []


def test_what_other_people_give_up_ends_nothing_of_the_user() -> None:
    known = [remembered("I take sugar in my coffee")]
    assert find_ended("my flatmate gave up sugar", known) == []
    assert find_ended("I gave up sugar", known) == known


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("Parent evening is on the 12th. Sorry, the 14th.", "Parent evening is on the 12th. …", "… Sorry, the 14th."),
        ("她八岁，哦不对，上个月刚满九岁", "她八岁， …", "… 哦不对，上个月刚满九岁"),
        ("Our address is in Sheffield. No laundrette here.", "", "Our address is in Sheffield. No laundrette here."),
    ],
)
def test_a_message_that_corrects_itself_is_split(text: str, before: str, after: str) -> None:
    assert split_change(text) == (before, after)


@pytest.mark.parametrize("text", ["", "where are the keys?", "I might sell the boat", "she said: 'no boats'", "ok 👍"])
def test_a_message_that_says_nothing_of_the_present_ends_nothing(text: str) -> None:
    assert find_ended(text, [remembered("We keep the boat keys with Mr Adeyemi")]) == []


def test_what_did_not_change_ends_nothing() -> None:
    known = [remembered("Our design review is on Fridays at 2")]
    assert find_ended("the design review hasn't moved", known) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("We're painting the bathroom green", "Actually, make that teal"), ("周三晚上吃饭", "不对，是周四")],
)
def test_a_correction_without_a_subject_changes_what_was_said_last(old: str, new: str) -> None:
    relevance = [Relevance(1.0), Relevance(0.0), Relevance(0.0)]
    assert [change.by for change in find_outdated([old, "why is the sky blue?", new], relevance)] == [2]
    assert find_outdated([old, "My sister has a horse", new], relevance) == []
