"""A memory block for LlamaIndex: what was said is kept once, and Recollect's context stands before the model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, LLMMetadata, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM
from llama_index.core.memory import InsertMethod, Memory
from pydantic import PrivateAttr

from recollect import Engine, Scope, SyncEngine, Turn
from recollect.integrations.llamaindex import (
    RecollectMemoryBlock,
    drop_repeated_input,
    find_alignment,
    make_turn,
)

MONDAY, TUESDAY = Scope("alex", "monday"), Scope("alex", "tuesday")


class Scripted(CustomLLM):
    """Answers what it is told to, and remembers what it was asked."""

    answer: str = "Noted."
    _asked: list[str] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        self._asked.append(prompt)
        return CompletionResponse(text=self.answer)

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponseGen:
        yield self.complete(prompt)


def block(engine: Engine | SyncEngine, **more: Any) -> RecollectMemoryBlock:
    return RecollectMemoryBlock(**{"engine": engine, "user": "alex", **more})


def remembering(engine: Engine | SyncEngine, session: str = "monday", **more: Any) -> Memory:
    return Memory.from_defaults(session_id=session, memory_blocks=[block(engine)], **more)


def texts(turns: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in turns]


def test_a_chat_is_kept_once_and_what_was_said_elsewhere_stands_before_the_model(plain: SyncEngine) -> None:
    model = Scripted()
    monday = SimpleChatEngine.from_defaults(llm=model, memory=remembering(plain))
    for message in ("My bees live in Wales.", "I live in York.", "yes", "yes"):
        monday.chat(message)
    plain.settle(MONDAY)

    SimpleChatEngine.from_defaults(llm=model, memory=remembering(plain, "tuesday")).chat("Where do my bees live?")

    assert "My bees live in Wales." in model._asked[-1]
    assert "location: York" in model._asked[-1]
    assert model._asked[-1].index("Wales") < model._asked[-1].index("Where do my bees live?")
    assert texts(plain.history(TUESDAY)) == ["Where do my bees live?"]
    monday._memory.get()
    spoken = ["My bees live in Wales.", "I live in York.", "yes", "yes"]
    assert texts(plain.history(MONDAY)) == [text for each in spoken for text in (each, "Noted.")]
    [home] = plain.memories(MONDAY, key="location")
    assert home.refs == ("monday#2",)


def test_what_the_queue_holds_is_not_told_twice_and_what_left_it_is_recalled(plain: SyncEngine) -> None:
    memory = remembering(plain, token_limit=120, token_flush_size=20)
    for n in range(30):
        memory.put(ChatMessage(role="user", content=f"Pump {n} has a lid of another colour."))
        memory.put(ChatMessage(role="assistant", content=f"Noted: pump {n}."))

    before, *queue = memory.get(input="Which lid has pump 3?")

    kept = [message.content for message in memory.get_all()]
    assert texts(plain.history(MONDAY, limit=1000)) == [*kept, "Which lid has pump 3?"]
    assert len(queue) < 20
    assert "Pump 3 has a lid" in (before.content or "")
    assert not any(f"user: {message.content}" in (before.content or "") for message in queue)


def test_a_new_process_goes_on_where_the_last_one_stopped(plain: SyncEngine) -> None:
    before = remembering(plain)
    before.put_messages([ChatMessage(role="user", content="hello"), ChatMessage(role="assistant", content="hi")])
    before.get()

    same_queue = remembering(plain, chat_store=before.sql_store)
    same_queue.put(ChatMessage(role="user", content="yes"))
    same_queue.get()
    assert texts(plain.history(MONDAY)) == ["hello", "hi", "yes"]

    overflowing = remembering(plain, chat_store=before.sql_store, token_limit=5, token_flush_size=1)
    overflowing.put(ChatMessage(role="user", content="It rains in Wales today."))
    overflowing.get()
    assert texts(plain.history(MONDAY)) == ["hello", "hi", "yes", "It rains in Wales today."]

    empty_queue = remembering(plain)
    empty_queue.put(ChatMessage(role="user", content="hello"))
    empty_queue.get()
    assert texts(plain.history(MONDAY))[-2:] == ["It rains in Wales today.", "hello"]


# LlamaIndex's workflows look at every attribute of a model, the deprecated ones too.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_an_agent_that_is_awaited_keeps_each_message_once(memory: Engine) -> None:
    model = Scripted(answer="Thought: I can answer without any tools.\nAnswer: In Wales.")
    await memory.record(MONDAY, [("user", "My bees live in Wales.")])
    kept = remembering(memory, "tuesday", insert_method=InsertMethod.USER)  # a ReActAgent has its own system message

    for question in ("Where do my bees live?", "Really?"):
        await ReActAgent(llm=model, tools=[]).run(user_msg=question, memory=kept)
    await kept.aget()

    assert "My bees live in Wales." in model._asked[0]
    assert texts(await memory.history(TUESDAY)) == ["Where do my bees live?", model.answer, "Really?", model.answer]


async def test_another_user_s_words_are_not_told_and_a_block_may_have_a_session_of_its_own(memory: Engine) -> None:
    await memory.record(Scope("bo", "monday"), [("user", "My bees live in Wales.")])
    question = [ChatMessage(role="user", content="Where do my bees live?")]

    assert await block(memory).aget(question) == ""
    assert "Wales" not in await block(memory, session="own").aget(question, session_id="tuesday")
    assert "Wales" in await block(memory, user="bo").aget(question)
    assert await block(memory).aget([]) == ""

    assert {each.session for each in await memory.conversations(Scope("alex"))} == {"llamaindex", "own"}


async def test_a_context_that_is_too_long_loses_its_end(memory: Engine) -> None:
    content = "\n".join(f"[{n}] a line of context" for n in range(10))

    shorter = await block(memory, priority=1).atruncate(content, 20)

    assert shorter is not None
    assert content.startswith(shorter)
    assert 5 <= len(shorter.splitlines()) < 10
    assert await block(memory, priority=1).atruncate(content, 1000) is None


@pytest.mark.parametrize(
    ("message", "turn"),
    [
        (ChatMessage(role="user", content="hello "), Turn("user", "hello ")),
        (ChatMessage(role="developer", content="Be brief."), Turn("system", "Be brief.")),
        (ChatMessage(role="model", content="hi"), Turn("assistant", "hi")),
        (ChatMessage(role="function", content="42"), Turn("tool", "42")),
        (ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_name="add")]), Turn("assistant", "(calls add)")),
        (ChatMessage(role="user", blocks=[ImageBlock(image=b"")]), Turn("user", "(no text)")),
    ],
)
def test_a_message_is_a_turn_by_who_said_it(message: ChatMessage, turn: Turn) -> None:
    assert make_turn(message) == turn


@pytest.mark.parametrize(
    ("known", "queue", "is_old", "start"),
    [
        ("", "ab", False, 0),
        ("ab", "abc", False, 0),
        ("abcd", "cde", False, 2),
        ("abcd", "xy", False, 4),
        ("ab", "a", False, 2),
        ("abcd", "bc", True, 1),
        ("abcd", "cdef", True, 2),
        ("abab", "abc", False, 2),
    ],
)
def test_what_is_known_is_found_again_in_the_queue(known: str, queue: str, is_old: bool, start: int) -> None:
    kept = [Turn("user", letter) for letter in known]

    assert find_alignment(kept, [Turn("user", letter) for letter in queue], is_old) == start


@pytest.mark.parametrize(
    ("spoken", "left"),
    [
        (["user: a", "user: a"], 1),
        (["user: a", "tool: 1", "user: a"], 2),
        (["user: a", "assistant: b", "user: c"], 3),
        (["user: a", "assistant: a"], 2),
        ([], 0),
    ],
)
def test_a_question_that_is_given_once_more_as_the_input_is_one_question(spoken: list[str], left: int) -> None:
    queue = [
        make_turn(ChatMessage(role=role, content=text)) for role, _, text in (each.partition(": ") for each in spoken)
    ]

    assert len(drop_repeated_input(queue)) == left


def test_without_llamaindex_one_sentence_names_the_extra() -> None:
    code = "import sys; sys.modules['llama_index'] = None\nimport recollect.integrations.llamaindex"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == (
        "ImportError: recollect.integrations.llamaindex needs LlamaIndex; run `pip install recollect[llamaindex]`"
    )
