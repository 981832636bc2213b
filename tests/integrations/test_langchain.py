"""LangChain's history and retriever keep LangChain's promises, and those of Recollect: owner, source, forgetting."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from recollect import Engine, InvalidInput, Scope, SyncEngine
from recollect.integrations.langchain import RecollectChatMessageHistory, RecollectRetriever

MONDAY = Scope("alex", "monday")
CALL = {"name": "weather", "args": {"city": "York", "days": [1, 2]}, "id": "call-1", "type": "tool_call"}
SAID: list[BaseMessage] = [
    SystemMessage("Be brief.", id="s1"),
    HumanMessage("I live in York. \n", name="Alex", additional_kwargs={"trace": {"n": 1.5, "tags": ["a", None]}}),
    AIMessage(
        "",
        tool_calls=[CALL],
        invalid_tool_calls=[{"name": "x", "args": "{", "id": None, "error": "no", "type": "invalid_tool_call"}],
        response_metadata={"model_name": "scripted", "finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        id="run-1",
    ),
    ToolMessage("Rain.", tool_call_id="call-1", artifact={"mm": [1, 2]}, status="error"),
    ToolMessage("", tool_call_id="call-2"),
    FunctionMessage(name="weather", content="Rain."),
    AIMessage([{"type": "text", "text": "It rains"}, {"type": "text", "text": " in York."}], id="run-2"),
    HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
    AIMessageChunk(content="bits", chunk_position="last"),
    ChatMessage(content="I object.", role="critic"),
    HumanMessage("  "),
]


@pytest.fixture
def history(plain: SyncEngine) -> RecollectChatMessageHistory:
    return RecollectChatMessageHistory(plain, user="alex", session="monday")


def told(messages: Sequence[BaseMessage]) -> list[tuple[type[BaseMessage], dict[str, Any]]]:
    return [(type(message), message.model_dump()) for message in messages]


def test_every_message_comes_back_as_it_was_field_by_field(history: RecollectChatMessageHistory) -> None:
    assert history.messages == []

    history.add_messages(SAID[:4])
    history.add_message(SAID[4])
    history.add_messages(SAID[5:])
    history.add_messages([])

    assert told(history.messages) == told(SAID)


def test_what_was_said_is_in_the_log_under_its_speaker_and_is_learned_from(
    history: RecollectChatMessageHistory, plain: SyncEngine
) -> None:
    history.add_messages(SAID)
    plain.settle(MONDAY)

    assert [(turn.role, turn.speaker, turn.text) for turn in plain.history(MONDAY)] == [
        ("system", None, "Be brief."),
        ("user", "Alex", "I live in York. \n"),
        ("assistant", None, "(calls weather)"),
        ("tool", None, "Rain."),
        ("tool", None, "(no text)"),
        ("tool", "weather", "Rain."),
        ("assistant", None, "It rains in York."),
        ("user", None, "(no text)"),
        ("assistant", None, "bits"),
        ("assistant", "critic", "I object."),
        ("user", None, "(no text)"),
    ]
    [home] = plain.memories(MONDAY, key="location")
    assert (home.value, home.refs) == ("York", ("monday#1",))


def test_a_long_session_is_read_whole_and_in_order(history: RecollectChatMessageHistory) -> None:
    history.add_messages([HumanMessage(f"number {n}") for n in range(2_001)])

    assert [message.text for message in history.messages] == [f"number {n}" for n in range(2_001)]


def test_turns_that_were_recorded_another_way_are_messages_too(
    history: RecollectChatMessageHistory, plain: SyncEngine
) -> None:
    plain.record(MONDAY, [("system", "Be kind."), ("user", "hello"), ("assistant", "hi"), ("tool", "42")])

    assert history.messages == [
        SystemMessage("Be kind."),
        HumanMessage("hello"),
        AIMessage("hi"),
        ChatMessage(content="42", role="tool"),
    ]


def test_a_redaction_reaches_the_message(history: RecollectChatMessageHistory, plain: SyncEngine) -> None:
    history.add_messages([HumanMessage("I live in York.", additional_kwargs={"city": "York"}), AIMessage("Noted.")])
    plain.settle(MONDAY)
    [home] = plain.memories(MONDAY, key="location")

    plain.redact(MONDAY, home.id)

    first, second = history.messages
    assert "York" not in first.model_dump_json()
    assert second == AIMessage("Noted.")


def test_clear_forgets_the_session_and_what_only_it_taught_and_no_other(plain: SyncEngine) -> None:
    monday, tuesday, bo = (
        RecollectChatMessageHistory(plain, user=user, session=session)
        for user, session in (("alex", "monday"), ("alex", "tuesday"), ("bo", "monday"))
    )
    monday.add_user_message("I live in York.")
    for other in (tuesday, bo):
        other.add_user_message("I love sci-fi movies.")
    plain.settle(MONDAY)

    monday.clear()
    monday.clear()

    assert [len(each.messages) for each in (monday, tuesday, bo)] == [0, 1, 1]
    assert [known.key for known in plain.memories(MONDAY)] == ["hobby"]
    assert not any("York" in line for line in plain.export(MONDAY))
    assert "forgot" in {deed.action for deed in plain.audit(MONDAY)}


def test_what_takes_a_message_back_is_refused(history: RecollectChatMessageHistory) -> None:
    with pytest.raises(InvalidInput, match="use `clear` to forget a session"):
        history.add_messages([HumanMessage("hello"), RemoveMessage(id="m1")])
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        history.add_messages([ToolMessage("ok", tool_call_id="c", artifact=object())])
    assert history.messages == []


def chain(*answers: str) -> Runnable[Any, Any]:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    return prompt | GenericFakeChatModel(messages=iter(map(AIMessage, answers)))


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_runnable_with_message_history_keeps_its_sessions_here(plain: SyncEngine) -> None:
    seen: list[list[str]] = []

    def look(value: Any) -> Any:
        seen.append([message.text for message in value["history"]])
        return value

    talk = RunnableWithMessageHistory(
        RunnableLambda(look) | chain("Hello Alex.", "You are Alex.", "Who?"),
        lambda session_id: RecollectChatMessageHistory(plain, user="alex", session=session_id),
        input_messages_key="question",
        history_messages_key="history",
    )

    async def awaited(question: str, session: str) -> Any:
        return await talk.ainvoke({"question": question}, {"configurable": {"session_id": session}})

    talk.invoke({"question": "I am Alex."}, {"configurable": {"session_id": "monday"}})
    asyncio.run(awaited("Who am I?", "monday"))
    asyncio.run(awaited("Who am I?", "tuesday"))

    assert seen == [[], ["I am Alex.", "Hello Alex."], []]
    assert [turn.text for turn in plain.history(MONDAY)] == ["I am Alex.", "Hello Alex.", "Who am I?", "You are Alex."]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
async def test_the_same_awaited_on_the_engine_s_own_loop(memory: Engine) -> None:
    talk = RunnableWithMessageHistory(
        chain("Hello."),
        lambda session_id: RecollectChatMessageHistory(memory, user="alex", session=session_id),
        input_messages_key="question",
        history_messages_key="history",
    )

    await talk.ainvoke({"question": "I live in York."}, {"configurable": {"session_id": "monday"}})

    history = RecollectChatMessageHistory(memory, user="alex", session="monday")
    assert [message.text for message in await history.aget_messages()] == ["I live in York.", "Hello."]
    with pytest.raises(InvalidInput, match="await the async"):
        _ = history.messages
    await history.aclear()
    assert await history.aget_messages() == []


@pytest.fixture
def york(plain: SyncEngine) -> SyncEngine:
    """A user who said on Monday where they live, and another."""
    plain.record(MONDAY, [("user", "I live in York."), ("assistant", "A fine city.")])
    plain.record(Scope("bo", "monday"), [("user", "I live in Leeds.")])
    plain.settle(MONDAY)
    plain.settle(Scope("bo"))
    return plain


def test_a_document_says_where_it_comes_from_and_why(york: SyncEngine) -> None:
    retriever = RecollectRetriever(engine=york, user="alex")

    known, said, *_ = found = retriever.invoke("where do I live?")

    [home] = york.memories(MONDAY, key="location")
    assert (known.page_content, known.id, known.metadata["id"]) == ("location: York", home.ref, home.ref)
    assert {name: known.metadata[name] for name in ("tier", "kind", "session", "arm", "refs")} == {
        "tier": "user",
        "kind": "memory",
        "session": "monday",
        "arm": "key",
        "refs": ["monday#0"],
    }
    assert (said.page_content, said.metadata["id"], said.metadata["kind"]) == ("I live in York.", "monday#0", "turn")
    assert said.metadata["arm"] in ("bm25", "vector")
    assert all(each.metadata["score"] > 0 and each.metadata["when"] and each.metadata["why"] for each in found)
    assert york.explain(MONDAY, said.metadata["request_id"]).query == "where do I live?"
    assert not any("Leeds" in each.page_content for each in found)


def test_a_retriever_finds_no_more_than_k_and_only_what_it_is_asked_for(york: SyncEngine) -> None:
    few = RecollectRetriever(engine=york, user="alex", k=1)
    turns = RecollectRetriever(engine=york, user="alex", kinds=("turn",))
    elsewhere = RecollectRetriever(engine=york, user="alex", session="tuesday", reach="session", kinds=("turn",))

    assert [each.page_content for each in few.invoke("where do I live?")] == ["location: York"]
    assert {each.metadata["kind"] for each in turns.invoke("where do I live?")} == {"turn"}
    assert elsewhere.invoke("where do I live?") == []


async def test_a_retriever_is_awaited_in_a_chain(memory: Engine) -> None:
    await memory.record(MONDAY, [("user", "My bees live in Wales.")])
    retriever = RecollectRetriever(engine=memory, user="alex")
    prompt = ChatPromptTemplate.from_template("{context}\n{question}")
    asked = {"context": retriever | (lambda found: found[0].page_content), "question": RunnablePassthrough()}

    prepared = await (asked | prompt).ainvoke("Where do my bees live?")

    assert prepared.to_string() == "Human: My bees live in Wales.\nWhere do my bees live?"


def test_without_langchain_one_sentence_names_the_extra() -> None:
    code = "import sys; sys.modules['langchain_core'] = None\nimport recollect.integrations.langchain"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == (
        "ImportError: recollect.integrations.langchain needs LangChain; run `pip install recollect[langchain]`"
    )
