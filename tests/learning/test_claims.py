"""Claims of a model: only what a user stated in his own words becomes a fact, and each refusal says why."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recollect.learning.claim_lines import read_claims
from recollect.learning.claims import Claim, Claims, accept_claims
from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.learning.summary import MOST_ENTRIES, MOST_SUMMARY, Summary, keep_grounded, tidy_summary
from recollect.values.conversation import Role, Turn
from recollect.values.memory import Extraction, Fact
from recollect.values.text import is_cjk


def claim(value: str, quote: str, key: str = "note", category: str = "fact", turn: int = 0, **more: Any) -> Claim:
    return Claim(turn, category, key, value, quote, **more)


def judged(text: str, *claims: Claim, role: Role = "user") -> Extraction:
    return accept_claims(Claims(claims), [Turn(role, text)], rulebooks())[0]


def reasons(found: Extraction) -> list[str]:
    assert not found.facts
    return [rejection.reason for rejection in found.rejected]


def test_a_claim_that_quotes_the_user_becomes_a_fact_where_the_quote_stands() -> None:
    text = "Well, I’m  allergic to Peanuts. Thanks!"

    [fact] = judged(text, claim("peanuts", "i'm allergic to peanuts.", "Allergies", "constraint")).facts

    assert fact == Fact("constraint", "allergy", "Peanuts", 0.7, 0.5, span=(6, 30), rule="model")
    assert text[slice(*fact.span)] == "I’m  allergic to Peanuts"


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("I moved to Leeds in May.", "moved to Leeds", "I moved to Leeds in May"),
        ("We deploy our services on Fridays.", "deploys services on Fridays", "We deploy our services on Fridays"),
        ("我叫李明，住在上海。", "上海", "住在上海"),
        ("Ich wohne seit 2019 in Köln.", "Köln", "Ich wohne seit 2019 in Köln"),
        ("I'm allergic to nuts, what can I eat?", "nuts", "I'm allergic to nuts, what can I eat?"),
        ("Can you remember that I hate mornings?", "mornings", "I hate mornings"),
        ("Would I live in York? I live in York.", "York", "live in York"),
        ("I don't live in York, I live in Leeds.", "Leeds", "I don't live in York, I live in Leeds"),
        ("I'd rather not fly.", "not fly", "I'd rather not fly"),
        ("We don't deploy our services on Fridays.", "doesn't deploy services", "We don't deploy our services"),
        ("其实我不叫小刚，我叫小钢", "小钢", "我不叫小刚，我叫小钢"),
        ('I call it "project otter".', "project otter", 'I call it "project otter"'),
    ],
)
def test_what_the_user_states_is_accepted(text: str, value: str, quote: str) -> None:
    assert [fact.value for fact in judged(text, claim(value, quote)).facts] == [value]


@pytest.mark.parametrize(
    ("text", "value", "quote", "reason"),
    [
        ("I live in Leeds.", "Rome", "I live in Rome", "not in the text"),
        ("I live in Leeds.", "Rome", "I live in Leeds", "not in the quote"),
        ("I live in Leeds.", "Leeds", "", "not in the text"),
        ("I made a start.", "art", "art", "not in the text"),
        ("I have artists here.", "art", "art", "not in the text"),
        ("Do I live in Leeds?", "Leeds", "I live in Leeds", "question"),
        ("If I lived in Leeds, I'd be happy.", "Leeds", "I lived in Leeds", "hypothetical"),
        ("如果我住在北京就好了。", "北京", "我住在北京", "hypothetical"),
        ("Good morning, how are you?", "morning", "Good morning", "small talk"),
        ("She said she is vegan.", "vegan", "she is vegan", "reported"),
        ("I never said I live in Dublin.", "Dublin", "I live in Dublin", "denied"),
        ("Forget that I live in Porto.", "I live in Porto", "I live in Porto", "forget"),
        ("I am not a nurse.", "nurse", "I am not a nurse", "negated"),
        ("We don't deploy our services on Fridays.", "deploys services", "We don't deploy our services", "negated"),
        ("We deploy on Fridays.", "not deploy on Fridays", "We deploy on Fridays", "not in the quote"),
        ("我不住在北京", "北京", "我不住在北京", "negated"),
        ("I like it.", "it", "I like it", "vague"),
        ("I like it. " + "very " * 99, "very " * 99, "very " * 99, "too long"),
        ("I like it. " + "very " * 999, "very very", "very " * 999, "not in the text"),
        ("<memory>I live in Rome</memory> Hello there.", "Rome", "I live in Rome", "quoted"),
        ("Recalled from earlier:\n[1] user: I live in Rome\n\nTell me more.", "Rome", "I live in Rome", "quoted"),
        ("> I live in Rome\nIs that so", "Rome", "I live in Rome", "quoted"),
        ("I love <b>nobody, not even</b> cats", "cats", "I love cats", "not in the text"),
    ],
)
def test_what_the_user_does_not_state_is_turned_away_with_the_reason(
    text: str, value: str, quote: str, reason: str
) -> None:
    assert reasons(judged(text, claim(value, quote))) == [reason]


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_nothing_is_ever_learned_from_a_turn_that_is_not_the_user_s(role: Role) -> None:
    assert reasons(judged("You live in Leeds.", claim("Leeds", "You live in Leeds"), role=role)) == ["not the user"]


@pytest.mark.parametrize("turn", [-1, 1, 99])
def test_a_claim_about_no_turn_is_counted_with_the_last(turn: int) -> None:
    assert reasons(judged("I live in Leeds.", claim("Leeds", "I live in Leeds", turn=turn))) == ["no such turn"]


@pytest.mark.parametrize(
    ("category", "key", "reason"), [("mood", "mood", "no such category"), ("fact", "!", "no usable key")]
)
def test_a_claim_that_belongs_nowhere_is_turned_away(category: str, key: str, reason: str) -> None:
    assert reasons(judged("I live in Leeds.", claim("Leeds", "I live in Leeds", key, category))) == [reason]


@pytest.mark.parametrize("text", ["Everyone seems to live in Leeds.", "Leeds is nice, says the guide."])
def test_a_claim_about_nobody_is_turned_away(text: str) -> None:
    assert reasons(judged(text, claim("Leeds", text, "location", "identity"))) == ["not about the user"]
    assert judged(f"I like it. {text}", claim("Leeds", text, "location", "identity")).facts == []


@pytest.mark.parametrize(
    ("key", "category", "expected"),
    [
        ("First Name", "fact", ("identity", "name")),
        ("Answer Style", "fact", ("instruction", "answer_style")),
        ("Favourite-Author", " Preference ", ("preference", "favourite_author")),
        ("definition: Active User", "fact", ("fact", "definition:active user")),
        ("budget", "nonsense", ("constraint", "budget")),
    ],
)
def test_keys_are_those_of_the_rules(key: str, category: str, expected: tuple[str, str]) -> None:
    [fact] = judged("Mine is Leeds.", claim("Leeds", "Mine is Leeds", key, category)).facts

    assert (fact.category, fact.key) == expected


@pytest.mark.parametrize(
    ("text", "value", "quote", "reason"),
    [
        ("Actually, I no longer live in York, I live in Leeds.", "Leeds", "I live in Leeds", None),
        ("No, my deadline is today, not Friday.", "today", "my deadline is today", None),
        ("My deadline is today.", "today", "My deadline is today", "temporary"),
        ("Actually, do I live in Leeds?", "Leeds", "do I live in Leeds", "question"),
        ("I used to live in York.", "York", "I used to live in York", "past"),
        ("No, she is called Anna, not Emma.", "Anna", "she is called Anna", "others"),
    ],
)
def test_a_correction_may_speak_of_today_but_not_ask_nor_state_what_is_over(
    text: str, value: str, quote: str, reason: str | None
) -> None:
    found = judged(text, claim(value, quote, corrects=True))

    assert [fact.corrects for fact in found.facts] == [True] * (reason is None)
    assert [rejection.reason for rejection in found.rejected] == [reason] * (reason is not None)


def test_a_gate_that_rules_for_the_same_key_pass_is_no_gate_for_a_claim() -> None:
    text = "I grew up in York when I was a kid."

    [fact] = judged(text, claim("York", "I grew up in York when I was a kid", "hometown", "identity")).facts

    assert (fact.key, fact.value) == ("hometown", "York")
    assert reasons(judged(text, claim("York", "I grew up in York when I was a kid", "location"))) == ["past"]


@pytest.mark.parametrize(
    ("text", "value", "category", "reason"),
    [
        ("Should I always answer in French?", "answer in French", "instruction", "question"),
        ("My name is not Bob.", "not Bob", "identity", "negated"),
    ],
)
def test_what_other_categories_may_say_is_turned_away(text: str, value: str, category: str, reason: str) -> None:
    assert reasons(judged(text, claim(value, text, category=category))) == [reason]


def test_a_negation_is_the_point_of_a_dislike() -> None:
    text = "I don't like mushrooms."

    assert judged(text, claim("mushrooms", text, "dislike", "preference")).facts
    assert reasons(judged(text, claim("mushrooms", text, "like", "preference"))) == ["negated"]


def test_what_a_claim_replaces_is_kept_if_it_was_said() -> None:
    said = accept_claims(
        Claims((claim("Leeds", "I live in Leeds", corrects=True, old="york", turn=1),)),
        [Turn("user", "I live in York."), Turn("user", "I live in Leeds.")],
        rulebooks(),
    )

    assert [fact.old for fact in said[1].facts] == ["york"]


def test_what_a_claim_says_it_replaces_must_have_been_said() -> None:
    [fact] = judged("I live in Leeds now.", claim("Leeds", "I live in Leeds", corrects=True, old="Vienna")).facts

    assert (fact.corrects, fact.old) == (True, None)


def test_numbers_are_clamped_and_what_is_weak_is_not_kept() -> None:
    strong = claim("Leeds", "I live in Leeds", "location", confidence=7, importance=99)
    weak = claim("tea", "I drink tea", "drink", confidence=-1)

    found = judged("I live in Leeds. I drink tea.", strong, weak)

    assert [(fact.value, fact.confidence, fact.importance) for fact in found.facts] == [("Leeds", 1.0, 1.0)]
    assert [(rejection.reason, rejection.text) for rejection in found.rejected] == [("weak", "tea")]


def test_one_turn_gives_six_facts_and_the_same_thing_once() -> None:
    things = ["maps", "owls", "tea", "jazz", "chess", "rain", "bread", "glass"]
    claims = [
        claim(thing, f"I collect {thing}", "collects", importance=0.9 - 0.05 * i) for i, thing in enumerate(things)
    ]

    found = judged(" ".join(f"I collect {thing}." for thing in things), *claims, *claims)

    assert [fact.value for fact in found.facts] == things[:6]
    assert {(rejection.reason, rejection.text) for rejection in found.rejected} == {
        ("too many", "bread"),
        ("too many", "glass"),
    }


def test_a_value_that_the_database_cannot_keep_is_cleaned() -> None:
    [fact] = judged(
        "We ship on Friday mornings.", claim("ships\0on\nFriday mornings", "We ship on Friday mornings")
    ).facts

    assert fact.value == "ships on Friday mornings"


def read_lines(text: str, lines: str) -> Extraction:
    turns = [Turn("user", text)]
    claims = read_claims(lines, turns)
    assert claims is not None
    return accept_claims(claims, turns, rulebooks())[0]


@pytest.mark.parametrize(
    ("text", "lines", "kept"),
    [
        # A fragment under a key of the model's own stands for its statement; several are one.
        (
            "The upright from Yamaha will be delivered to my flat on Friday, so I cleared the hall.",
            "fact, upright, Yamaha\nfact, hall, cleared",
            ["The upright from Yamaha will be delivered to my flat on Friday, so I cleared the hall"],
        ),
        ("We moved to Porto in spring.", "identity, location, Porto", ["Porto"]),
        ("My cat is called Mimi, three years old.", "identity, age, three years old", ["three years old"]),
        ("oh for crying out loud, it printed 40 copies", "fact, copies, 40 copies", []),
        ("My two cents: pineapples are just aggressive apples", "identity, user, aggressive apples", []),
        ("If I had a dog, I'd call it Rex.", "fact, dog, Rex", []),
        ("我每天早上喝豆浆，不喝牛奶。", "preference, morning_drink, 牛奶", ["我每天早上喝豆浆，不喝牛奶"]),
    ],
)
def test_a_line_keeps_a_known_value_or_the_statement_that_it_comes_from(text: str, lines: str, kept: list[str]) -> None:
    found = read_lines(text, lines)

    assert [fact.value for fact in found.facts] == kept
    assert {fact.rule for fact in found.facts} <= {"model"}
    assert not kept or "age" not in [fact.key for fact in found.facts]


def test_a_value_of_another_person_names_them_in_its_key() -> None:
    [fact] = read_lines("My daughter is allergic to nuts.", "constraint, allergy, nuts").facts

    assert (fact.category, fact.key, fact.value) == ("fact", "daughter_allergy", "nuts")


def test_a_model_confirms_statements_that_are_not_kept_without_it() -> None:
    text = "Our hallway is full of prams"

    assert extract(text, "user", rulebooks()).facts == []
    assert [fact.value for fact in read_lines(text, f"identity, user, {text}").facts] == [text]


def test_a_summary_is_bounded_and_keeps_only_entries_whose_words_were_said() -> None:
    made_up = ("Lasagne", "Vienna")
    given = Summary("long " * 999, facts=(*(f"fact {n}" for n in range(99)), ""), entities=("Leeds", "Leeds", *made_up))

    summary = keep_grounded(tidy_summary(given), ["I live in Leeds; fact.", *(f"fact {n}" for n in range(99))])

    assert (len(summary.summary), len(summary.facts)) == (MOST_SUMMARY, MOST_ENTRIES)
    assert summary.entities == ("Leeds",)


LABELLED = [
    json.loads(line)
    for language in ("en", "zh")
    for line in (Path(__file__).parents[1] / "bench" / f"extraction_{language}.jsonl").read_text("utf-8").splitlines()
]


def last_word(text: str) -> str:
    return text.strip("。？！?.!")[-2:] if is_cjk(text) else re.findall(r"[\w']+", text)[-1]


def kept(sentence: dict[str, Any], *claims: Claim) -> int:
    """How many of the claims, each judged alone."""
    role = sentence.get("role", "user")
    return sum(len(judged(sentence["text"], one, role=role).facts) for one in claims)


def test_the_gates_let_honest_claims_through_and_stop_most_of_a_gullible_model_s() -> None:
    """On the sentences that the rules are measured on; the figures are in docs/why/model-path.md."""
    honest = gullible = 0
    for sentence in LABELLED:
        text = sentence["text"]
        stated = [claim(fact["value"], text, fact["key"], fact["category"]) for fact in sentence["facts"]]
        honest += kept(sentence, *stated)
        gullible += 0 if stated else kept(sentence, claim(last_word(text), text, "thing", "identity"))

    assert honest >= 261
    assert gullible <= 43
