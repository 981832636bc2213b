"""What a user takes back, corrects and reports in plain sentences, without a language model, in both languages."""

from __future__ import annotations

import pytest

from recollect import Engine, Scope
from recollect.apps.chat.assistant import Assistant
from recollect.apps.chat.message import Answer, Ask
from recollect.apps.chat.phrases import CHINESE, ENGLISH
from recollect.settings import Settings


@pytest.fixture
def assistant(memory: Engine, settings: Settings) -> Assistant:
    return Assistant(memory, settings)


async def said(assistant: Assistant, scope: Scope, *messages: str) -> list[Answer]:
    return [await assistant.answer(scope, Ask(message)) for message in messages]


async def values(memory: Engine, scope: Scope) -> set[str]:
    return {each.value for each in await memory.memories(scope)}


async def test_what_is_named_by_its_key_is_forgotten_and_the_rest_stays(
    assistant: Assistant, memory: Engine, alex: Scope
) -> None:
    await said(assistant, alex, "My name is Ann. I live in Porto. I work at Acme. My birthday is 3 May.")
    orders = ("Forget where I live.", "forget my name", "Delete my birthday from your memory")
    for answer in await said(assistant, alex, *orders):
        assert ENGLISH.log_stays in answer.response
        assert answer.suggestions == ()
    assert await values(memory, alex) == {"Acme"}
    live, name = await said(assistant, alex, "Where do I live?", "What's my name?")
    assert live.response == name.response == ENGLISH.unknown


async def test_a_key_is_forgotten_in_chinese_too(assistant: Assistant, memory: Engine, alex: Scope) -> None:
    await said(assistant, alex, "我叫李雷，住在上海，在腾讯工作。我的生日是5月20日")
    *_, name = await said(assistant, alex, "忘掉我的生日", "忘掉我的名字", "忘掉我住在哪里", "我叫什么？")
    assert await values(memory, alex) == {"腾讯"}
    assert name.response == CHINESE.unknown


@pytest.mark.parametrize(
    ("told", "order", "reply"),
    [
        ("My name is Ann and I live in Porto.", "forget everything about me", ENGLISH.not_everything),
        ("我叫李雷，住在上海。", "忘掉关于我的一切", CHINESE.not_everything),
    ],
)
async def test_a_sentence_never_erases_everything_and_the_reply_says_so(
    assistant: Assistant, memory: Engine, alex: Scope, told: str, order: str, reply: str
) -> None:
    answer = (await said(assistant, alex, told, order))[-1]
    assert answer.response == reply
    assert len(await values(memory, alex)) == 2


async def test_an_older_value_does_not_come_back_when_the_newer_is_forgotten(assistant: Assistant, alex: Scope) -> None:
    told = ("I live in Porto.", "I moved to Lisbon.", "Forget that I live in Lisbon.", "Where do I live?")
    answer = (await said(assistant, alex, *told))[-1].response
    assert answer.startswith("Your location has no current value. Earlier: location: Porto.")
    assert "; until " in answer
    assert "Lisbon" not in answer


@pytest.mark.parametrize(
    ("told", "question", "reply"),
    [
        ("我叫李雷，住在上海，在腾讯工作。", "我在哪里工作？", "单位：腾讯。"),
        ("我叫李雷，住在上海，在腾讯工作。", "我在哪里上班？", "单位：腾讯。"),
        ("I live in Porto and I work at Acme.", "Where do I work?", "employer: Acme."),
        ("I live in Porto.", "Where do I work?", ENGLISH.unknown),
        ("My name is Ann.", "Wht is my nmae?", "name: Ann."),
        ("My favourite colour is blue.", "What is my favorite color?", "favourite colour: blue."),
    ],
)
async def test_the_key_that_is_asked_for_is_answered_and_no_other(
    assistant: Assistant, alex: Scope, told: str, question: str, reply: str
) -> None:
    answer = (await said(assistant, alex, told, question))[-1].response
    assert answer.startswith(reply)
    assert len(answer.splitlines()) == 1


@pytest.mark.parametrize(
    ("told", "correction", "value"),
    [
        ("I live in Lisbon.", "Actually it's Braga, not Lisbon.", "Braga"),
        ("I live in Lisbon.", "It's not Lisbon, it's Braga.", "Braga"),
        ("我住在里斯本。", "其实是布拉加，不是里斯本。", "布拉加"),
        ("Remember that the cat is Tom.", "No, it's Faro, not Madrid.", "the cat is Tom"),
    ],
)
async def test_a_correction_by_the_old_value_corrects_what_has_it_or_says_that_nothing_was(
    assistant: Assistant, memory: Engine, alex: Scope, told: str, correction: str, value: str
) -> None:
    answer = (await said(assistant, alex, told, correction))[-1].response
    assert await values(memory, alex) == {value}
    assert answer.startswith(("Corrected: ", "已更正：")) == (value in correction)
    assert ("nothing was corrected" in answer) == (value not in correction)


@pytest.mark.parametrize(
    ("report", "open_still"),
    [
        ("I called the dentist.", {"send the board slides to Anna by Friday"}),
        ("The dentist call is done.", {"send the board slides to Anna by Friday"}),
        ("I have sent the board slides.", {"call the dentist"}),
        ("Someone called.", {"call the dentist", "send the board slides to Anna by Friday"}),
        (
            "I called the dentist, but nobody was there.",
            {"call the dentist", "send the board slides to Anna by Friday"},
        ),
        ("I have not sent the board slides.", {"call the dentist", "send the board slides to Anna by Friday"}),
    ],
)
async def test_a_report_closes_the_one_task_that_it_names(
    assistant: Assistant, memory: Engine, alex: Scope, report: str, open_still: set[str]
) -> None:
    tasks = ("Remind me to call the dentist.", "Remind me to send the board slides to Anna by Friday.")
    await said(assistant, alex, *tasks, report)
    assert await values(memory, alex) == open_still


@pytest.mark.parametrize(
    ("told", "question"),
    [("Remind me to call the dentist.", "What are my tasks?"), ("提醒我给牙医打电话", "我有哪些待办？")],
)
async def test_the_suggestion_to_close_a_task_closes_it(
    assistant: Assistant, memory: Engine, alex: Scope, told: str, question: str
) -> None:
    asked = (await said(assistant, alex, told, question))[-1]
    closed = (await said(assistant, alex, asked.suggestions[0]))[-1]
    assert closed.response.startswith(("Done: ", "已完成："))
    assert closed.suggestions == ()
    assert await values(memory, alex) == set()


async def test_it_is_what_the_last_reply_named_and_otherwise_the_open_tasks_are_told(
    assistant: Assistant, memory: Engine, alex: Scope
) -> None:
    *_, closed = await said(assistant, alex, "Remind me to buy milk.", "What are my tasks?", "Yes, it is done.")
    assert closed.response == ENGLISH.closed.format(task="buy milk")
    *_, unclear = await said(assistant, alex, "Remind me to call the dentist.", "Done: water the plants")
    assert unclear.response == f"{ENGLISH.which_task}\n- call the dentist"


@pytest.mark.parametrize(
    ("question", "reply"), [("What's my name?", ENGLISH.unknown), ("我叫什么名字？", CHINESE.unknown)]
)
async def test_a_question_is_never_quoted_as_its_own_answer(
    assistant: Assistant, alex: Scope, question: str, reply: str
) -> None:
    assert [each.response for each in await said(assistant, alex, question, question)] == [reply, reply]


async def test_a_dislike_reads_as_one(assistant: Assistant, alex: Scope) -> None:
    noted, listed = await said(assistant, alex, "我不喜欢香菜", "你知道我的什么？")
    assert "我不喜欢香菜" in noted.response
    assert "我不喜欢香菜 (" in listed.response


async def test_newer_instruction_on_the_same_matter_replaces_the_older(
    assistant: Assistant, memory: Engine, alex: Scope
) -> None:
    *_, answer = await said(assistant, alex, "keep your answers short", "From now on give me long detailed answers")

    assert await values(memory, alex) == {"From now on give me long detailed answers"}
    assert "before, it was keep your answers short" in answer.response


async def test_sold_thing_is_replaced_by_the_new_one_and_nothing_else_is(
    assistant: Assistant, memory: Engine, alex: Scope
) -> None:
    await said(assistant, alex, "I drive a blue Volvo", "My sister Hannah teaches physics in Graz")
    await said(assistant, alex, "Sold the Volvo last weekend, got a Kia instead")
    car, sister, brother = await said(
        assistant, alex, "what car do I drive?", "what does my sister do?", "What does my brother do?"
    )

    assert "Kia" in car.response, car.response
    assert "Hannah teaches physics" in sister.response
    assert "Kia" not in sister.response
    assert brother.response == ENGLISH.unknown


async def test_a_statement_that_a_later_one_changes_is_no_longer_known(
    assistant: Assistant, memory: Engine, alex: Scope
) -> None:
    await said(assistant, alex, "my physio is on Tuesdays at 5", "our cat Pip only eats tuna")
    await said(assistant, alex, "physio moved to Thursdays at 6")

    assert await values(memory, alex) == {"physio moved to Thursdays at 6", "our cat Pip only eats tuna"}
