"""The assistant without a language model: it answers from memory, cites, and says when it knows nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest

from recollect import Engine, Lesson, Scope, Turn
from recollect.apps.chat.answers import explain_reply
from recollect.apps.chat.assistant import Assistant
from recollect.apps.chat.message import Answer, Ask, Intent, MemoryUse, describe_quoted_use, read_message
from recollect.apps.chat.phrases import CHINESE, ENGLISH
from recollect.learning.rules import rulebooks
from recollect.settings import Settings

DATABASES = [
    ("user", "Which vector database should I use, FAISS or pgvector?"),
    ("assistant", "FAISS is a library; pgvector lives inside PostgreSQL."),
    ("user", "I already run PostgreSQL for the orders."),
    ("assistant", "Then pgvector saves you a second store."),
    ("user", "How does an HNSW index compare with IVFFlat?"),
    ("assistant", "HNSW answers faster, IVFFlat builds faster."),
    ("user", "Let's choose pgvector with HNSW for our databases."),
    ("assistant", "A good choice for your size."),
]
CITED = re.compile(r"\[([^\[\]]+#\d+)(?:-\d+)?\]")


@pytest.fixture
def assistant(memory: Engine, settings: Settings) -> Assistant:
    return Assistant(memory, settings)


async def said(assistant: Assistant, scope: Scope, *messages: str) -> Answer:
    """The answer to the last of them."""
    for message in messages:
        answer = await assistant.answer(scope, Ask(message))
    return answer


SWITCHED = ["I do my notes in Evernote", "I switched to Obsidian for my notes"]


async def a_hundred_turns(memory: Engine, scope: Scope) -> None:
    topics = ("bread", "a bike tour", "the piano", "tomatoes", "the office move")
    small = [("user", "Hi, my name is Alex and I prefer Python."), ("assistant", "Hello Alex."), *DATABASES]
    for day in range(45):
        topic = topics[day % 5]
        small += [("user", f"Day {day}: tell me more of {topic}."), ("assistant", f"Note {day} is about {topic}.")]
    await memory.record(scope, [Turn("user" if role == "user" else "assistant", text) for role, text in small])
    await memory.settle(scope)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("hi!", "small talk"),
        ("Thanks a lot!", "small talk"),
        ("你好！", "small talk"),
        ("Hi. The staging server is otter.", "statement"),
        ("What do you know about me?", "profile"),
        ("你知道我的什么？", "profile"),
        ("Why do you say that?", "why"),
        ("how do you know?", "why"),
        ("你怎么知道的？", "why"),
        ("Why do you say that in the minutes of March?", "question"),
        ("Remember that my locker code is 4471.", "teaching"),
        ("Can you forget what I told you about my job?", "teaching"),
        ("其实我搬到北京了。", "teaching"),
        ("What's my name?", "question"),
        ("上次我说的车牌号是多少？", "question"),
        ("It rained all day.", "statement"),
        ("Please book the bus with Arriva.", "order"),
        ("请帮我订一张去杭州的火车票", "order"),
        ("Tell me the wifi password.", "question"),
        ("What was my first job?", "question"),
        ("What should I do first?", "question"),
        ("What did I tell you about my sister?", "question"),
        ("What did she say?", "question"),
        ("That's what I said.", "statement"),
        ("我第一份工作是什么？", "question"),
    ],
)
def test_a_message_is_read_for_what_it_wants(text: str, intent: Intent) -> None:
    assert read_message(text, rulebooks()).intent == intent


async def test_after_a_hundred_turns_a_fact_is_exact_and_a_topic_is_found(
    assistant: Assistant, memory: Engine, alex: Scope
) -> None:
    await a_hundred_turns(memory, alex)
    name = await said(assistant, alex, "What's my name?")
    assert name.response.startswith("name: Alex. (You told me on ")
    assert CITED.findall(name.response) == ["monday#0"]
    talk = await said(assistant, alex, "What did we discuss about databases?")
    refs = [int(ref.partition("#")[2]) for ref in CITED.findall(talk.response)]
    assert refs
    assert max(refs) < 10
    assert "Let's choose pgvector with HNSW for our databases." in talk.response


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("The launch is on 3 June in Lisbon.", "When did I say the launch is, last time?", "3 June"),
        ("Our staging server is called otter.", "What did I tell you before about the staging server?", "otter"),
        ("I keep my bees in Wales.", "Where are my bees?", "Wales"),
        ("发布会定在六月三号，在里斯本。", "上次我说发布会定在什么时候？", "六月三号"),
        ("请记住，我的车牌号是沪A12345", "之前我的车牌号是多少？", "沪A12345"),
        ("我叫李明，我住在上海。", "我叫什么名字？", "李明"),
    ],
)
async def test_what_was_said_in_another_session_is_found_and_cited(
    assistant: Assistant, alex: Scope, told: str, question: str, expected: str
) -> None:
    await said(assistant, alex, told)
    answer = await said(assistant, replace(alex, session="tuesday"), question)
    assert expected in answer.response
    assert CITED.findall(answer.response)[0] == "monday#0"
    assert answer.memory.scope_used == "user"
    assert answer.memory.widened


@pytest.mark.parametrize(
    ("messages", "question", "shown", "hidden"),
    [
        (SWITCHED, "which app do I use for notes?", "Obsidian", "Evernote"),
        (SWITCHED, "what did I use for notes before?", "Evernote", "Obsidian"),
        (["I live in Porto.", "My brother Tom moved to Ghent last week."], "where do I live?", "Porto", "Ghent"),
        (["每周二晚上学吉他", "吉他课改到周四了"], "我哪天学吉他？", "周四", "周二"),
        (["Use miles for me please, I'm from Ohio"], "where am I from?", "Ohio", "outdated"),
    ],
)
async def test_current_value_is_shown_and_earlier_one_if_asked(
    assistant: Assistant, alex: Scope, messages: list[str], question: str, shown: str, hidden: str
) -> None:
    answer = await said(assistant, alex, *messages, question)
    assert shown in answer.response
    assert hidden not in answer.response


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("What is the capital of Mongolia?", ENGLISH.unknown),
        ("What does my sister do for a living?", ENGLISH.unknown),
        ("What did we discuss about sailing?", ENGLISH.unknown),
        ("蒙古的首都是哪里？", CHINESE.unknown),
    ],
)
async def test_it_says_so_when_it_knows_nothing(
    assistant: Assistant, memory: Engine, alex: Scope, question: str, reply: str
) -> None:
    await a_hundred_turns(memory, alex)
    answer = await said(assistant, alex, question)
    assert answer.response.startswith(reply)


async def test_every_citation_leads_to_a_turn_that_says_it(assistant: Assistant, memory: Engine, alex: Scope) -> None:
    answer = await said(assistant, alex, "The bakery opens at seven.", "The bakery sells rye.", "What of the bakery?")
    quoted = re.findall(r"“(.*?)” \[monday#(\d+)\]", answer.response)
    turns = {turn.index: turn.text for turn in await memory.history(alex)}
    assert len(quoted) == 2
    assert all(turns[int(index)] == text for text, index in quoted)


@pytest.mark.parametrize(
    ("messages", "reply", "known"),
    [
        (["Remember that my locker code is 4471."], "Noted: my locker code is 4471 [monday#0]", "locker code is 4471"),
        (["My name is Alex.", "Actually, my name is Alexander."], "before, it was Alex.", "name: Alexander"),
        (["我住在上海。", "其实我搬到北京了。"], "已更正：所在地：北京 [monday#2]；之前是 上海。", "location: 北京"),
    ],
)
async def test_what_it_is_told_is_confirmed_by_what_is_known_now(
    assistant: Assistant, memory: Engine, alex: Scope, messages: list[str], reply: str, known: str
) -> None:
    answer = await said(assistant, alex, *messages)
    assert reply in answer.response
    assert any(known in each.text for each in await memory.memories(alex))


@pytest.mark.parametrize(
    ("told", "order", "question", "value"),
    [
        ("I prefer Python.", "Forget that I prefer Python.", "Which programming language do I prefer?", "Python"),
        ("我对花生过敏。", "忘掉我对花生过敏这件事", "我对什么过敏？", "花生"),
        ("Remember my locker code is 4471.", "Forget my locker code is 4471.", "What is my locker code?", "4471"),
    ],
)
async def test_what_is_forgotten_is_not_said_again(
    assistant: Assistant, memory: Engine, alex: Scope, told: str, order: str, question: str, value: str
) -> None:
    forgotten = await said(assistant, alex, told, order)
    assert value not in forgotten.response
    answer = await said(assistant, alex, question)
    assert value not in answer.response + " ".join(answer.suggestions)
    assert await memory.memories(alex) == []


async def test_there_may_be_nothing_to_forget(assistant: Assistant, alex: Scope) -> None:
    assert (await said(assistant, alex, "Please forget my shoe size")).response == ENGLISH.nothing_to_forget


async def test_it_lists_what_it_knows_and_says_why(assistant: Assistant, alex: Scope) -> None:
    assert (await said(assistant, alex, "What do you know about me?")).response == ENGLISH.profile_empty
    known = await said(assistant, alex, "My name is Alex and I live in Leeds.", "What do you know about me?")
    assert "- name: Alex (" in known.response
    assert "- location: Leeds (" in known.response
    why = await said(assistant, alex, "Where do I live?", "Why do you say that?")
    assert why.response.startswith(ENGLISH.because)
    assert "location: Leeds [monday#2] (the question asks for it" in why.response


async def test_profile_leaves_out_questions_and_their_sql(assistant: Assistant, memory: Engine, alex: Scope) -> None:
    await memory.learn(alex, Lesson("SELECT count(*) FROM orders", key="how many orders?", kind="question"))
    assert (await said(assistant, alex, "What do you know about me?")).response == ENGLISH.profile_empty


def test_without_a_source_it_claims_none() -> None:
    bare = Turn("assistant", "It may rain.", data={"memory": {"sources": []}})
    sourced = Turn("assistant", "You live in Leeds.", data={"memory": {"sources": ["monday#2"]}})
    assert explain_reply(None, None, ENGLISH).text == explain_reply(bare, None, ENGLISH).text == ENGLISH.no_grounds
    assert explain_reply(sourced, None, ENGLISH).text.endswith("- [monday#2]")


def test_what_is_quoted_is_what_was_used() -> None:
    use = describe_quoted_use(MemoryUse(hits_found=9, hits_used=6), ["memory:1", "monday#0-9", "monday#3", "monday#4"])
    assert (use.hits_found, use.hits_used, use.facts, use.episodes) == (9, 2, 1, 1)


@pytest.mark.parametrize(
    ("text", "reply"), [("hi!", ENGLISH.greeting), ("谢谢你", CHINESE.thanks), ("ok", ENGLISH.agreed)]
)
async def test_small_talk_is_answered_without_recall(assistant: Assistant, alex: Scope, text: str, reply: str) -> None:
    answer = await said(assistant, alex, "My name is Alex.", text)
    assert (answer.response, answer.memory) == (reply, MemoryUse())


async def test_the_answers_are_no_source_of_later_answers(assistant: Assistant, alex: Scope) -> None:
    question = "When does the bakery open?"
    answer = await said(assistant, alex, "The bakery opens at seven.", question, question, question)
    assert CITED.findall(answer.response) == ["monday#0"]


async def test_what_may_be_asked_next_is_remembered(assistant: Assistant, settings: Settings, alex: Scope) -> None:
    answer = await said(assistant, alex, "The launch is planned for June in Lisbon with Maria.", "When is the launch?")
    assert set(answer.suggestions) == {"What did we say about Lisbon?", "What did we say about Maria?"}
    for suggestion in answer.suggestions:
        assert "monday#0" in (await said(assistant, alex, suggestion)).response


@pytest.mark.parametrize("given", [{"suggestions": False}, {"suggestion_count": 0}])
async def test_suggestions_can_be_switched_off(
    memory: Engine, settings: Settings, alex: Scope, given: dict[str, int]
) -> None:
    assistant = Assistant(memory, replace(settings, **given))  # type: ignore[arg-type]
    assert (await said(assistant, alex, "Maria plans the launch in Lisbon.", "What of the launch?")).suggestions == ()


Break = Callable[[str], None]


@pytest.fixture
def lose(database: str) -> Break:
    """Takes a table away, as a migration gone wrong would."""

    def gone(table: str) -> None:
        with psycopg.connect(database, autocommit=True) as owner:
            owner.execute(f"ALTER TABLE recollect.{table} RENAME TO lost".encode())

    return gone


async def test_a_memory_that_cannot_be_asked_is_owned_up_to(assistant: Assistant, alex: Scope, lose: Break) -> None:
    await said(assistant, alex, "The code word is heron.")
    lose("episode")
    answer = await said(assistant, alex, "What is the code word?")
    assert (answer.response, answer.error_stage) == (ENGLISH.unreachable, "retrieval")
    assert [note for note in answer.memory.notes if "answered without it" in note]
    assert answer.ref == "monday#3"


async def test_a_log_that_cannot_be_written_is_owned_up_to(assistant: Assistant, lose: Break) -> None:
    lose("turn")
    answer = await said(assistant, Scope("alex"), "What is the code word?")
    assert answer.response == ENGLISH.unreachable
    assert "could not be recorded" in answer.memory.notes[0]
    assert (answer.ref, bool(answer.session)) == (None, True)


async def test_switched_off_memory_is_not_answered_from(memory: Engine, settings: Settings, alex: Scope) -> None:
    answer = await said(
        Assistant(memory, replace(settings, enabled=False)), alex, "My name is Alex.", "What's my name?"
    )
    assert answer.response == ENGLISH.switched_off
    assert len(await memory.history(alex)) == 4


TALK = (
    "Hi there!",
    "How many days of leave are there?",
    "I keep bees in Wales.",
    "Please book the bus with Arriva.",
    "Our van is green.",
    "What did I just say?",
)
TALK_ZH = ("你好", "年假有几天？", "我的车是绿色的。", "请帮我订一张去杭州的火车票")


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("Sorry, what did I just say?", 8),
        ("Can you repeat my last message?", 8),
        ("Remind me what my first question was", 2),
        ("What was the first thing I asked you today?", 2),
        ("What did I ask last?", 6),
        ("What was the second thing I told you?", 8),
        ("What was the second thing?", 4),
        ("What was your last answer?", 9),
        ("Could you say that again?", 9),
    ],
)
async def test_questions_about_the_session_are_answered_from_it(
    assistant: Assistant, memory: Engine, alex: Scope, question: str, index: int
) -> None:
    answer = await said(assistant, alex, *TALK, question)
    assert answer.memory.sources == (f"monday#{index}",)
    assert (await memory.history(alex))[index].text in answer.response


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("我刚才说了什么？", 6),
        ("我第一个问题是什么？", 2),
        ("第二件事是什么？", 4),
        ("你刚才怎么回答我的？", 7),
        ("你能再说一遍吗？", 7),
    ],
)
async def test_questions_about_a_chinese_session(assistant: Assistant, alex: Scope, question: str, index: int) -> None:
    answer = await said(assistant, alex, *TALK_ZH, question)
    assert answer.memory.sources == (f"monday#{index}",)


async def test_what_was_talked_about_lists_the_messages(assistant: Assistant, alex: Scope) -> None:
    answer = await said(assistant, alex, *TALK, "What have we been talking about?")
    assert answer.memory.sources == ("monday#2", "monday#4", "monday#6", "monday#8")


async def test_without_such_a_message_the_latest_are_shown(assistant: Assistant, alex: Scope) -> None:
    answer = await said(assistant, alex, *TALK, "What was my fifth question?")
    assert answer.response.startswith(ENGLISH.no_such_message)
    assert "Our van is green." in answer.response


async def test_the_first_question_of_the_day_may_be_in_another_session(assistant: Assistant, alex: Scope) -> None:
    await said(assistant, replace(alex, session="breakfast"), "Where are my keys?")
    answer = await said(assistant, alex, "What is the tide?", "What was my first question today?")
    assert answer.memory.sources == ("breakfast#0",)


@pytest.mark.parametrize("question", ["Who am I?", "What can you do?", "What do I have to do?"])
async def test_question_of_common_words_alone_is_answered(assistant: Assistant, alex: Scope, question: str) -> None:
    await assistant.answer(alex, Ask("I am Alex."))
    reply = await assistant.answer(alex, Ask(question))
    assert reply.error_stage is None


async def test_question_about_the_user_that_names_nothing_lists_what_is_known(
    assistant: Assistant, alex: Scope
) -> None:
    await assistant.answer(alex, Ask("My name is Alex."))
    assert "Alex" in (await assistant.answer(alex, Ask("Who am I?"))).response
