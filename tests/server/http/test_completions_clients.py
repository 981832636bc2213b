"""Clients as they are: OpenAI's own, and LangChain's, with nothing changed but the base URL and the user's name."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from langchain_openai import ChatOpenAI

from recollect.settings import Settings

from .conftest import Serve
from .proxied import before, in_marks, record, texts
from .upstream import USAGE, Scripted, Upstream, said, streamed, upstream_server

QUESTION = "What is the code word?"
HEADERS = {"X-Recollect-User": "alex", "X-Recollect-Session": "monday"}
KEPT = [("user", QUESTION), ("assistant", "It is heron.")]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstream_server() as one:
        one.answer = lambda body: streamed("It is ", "heron.") if body.get("stream") else said("It is heron.")
        yield one


@pytest.fixture
def url(serve: Serve, upstream: Upstream, settings: Settings) -> str:
    record(settings, "The code word is heron.")
    return f"{serve(**before(upstream)).url}/v1"


@pytest.mark.parametrize("stream", [False, True])
def test_openais_client(url: str, upstream: Upstream, settings: Settings, stream: bool) -> None:
    with openai.OpenAI(base_url=url, api_key="any", default_headers=HEADERS) as client:
        asked = client.chat.completions.with_raw_response.create(
            model="small", messages=[{"role": "user", "content": QUESTION}], stream=stream
        )
        answer = asked.parse()
        if isinstance(answer, openai.Stream):
            text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
        else:
            text = answer.choices[0].message.content or ""
            assert answer.usage is not None
            assert answer.usage.to_dict() == USAGE
    assert text == "It is heron."
    assert asked.headers["x-recollect-memory"] == "used"
    assert "The code word is heron." in in_marks(upstream.told)
    assert texts(settings, "monday") == KEPT


async def test_openais_client_that_awaits(url: str, upstream: Upstream, settings: Settings) -> None:
    async with openai.AsyncOpenAI(base_url=url, api_key="any", default_headers=HEADERS) as client:
        whole = await client.chat.completions.create(
            model="small", messages=[{"role": "user", "content": QUESTION}], metadata={"session_id": "ignored"}
        )
        pieces = await client.chat.completions.create(
            model="small", messages=[{"role": "user", "content": QUESTION}], stream=True
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in pieces])
    assert whole.choices[0].message.content == text == "It is heron."
    assert texts(settings, "monday") == [*KEPT, KEPT[1]]


def test_the_models_as_openais_client_lists_them(url: str, upstream: Upstream) -> None:
    upstream.answer = lambda _: Scripted([b'{"object": "list", "data": [{"id": "small", "object": "model"}]}'])
    with openai.OpenAI(base_url=url, api_key="any") as client:
        assert [model.id for model in client.models.list()] == ["small"]


@pytest.mark.parametrize("stream", [False, True])
def test_langchains_client(url: str, upstream: Upstream, settings: Settings, stream: bool) -> None:
    chat = ChatOpenAI(base_url=url, api_key="any", model="small", default_headers=HEADERS)  # type: ignore[arg-type]
    if stream:
        text = "".join(str(chunk.content) for chunk in chat.stream(QUESTION))
    else:
        text = str(chat.invoke(QUESTION).content)
    assert text == "It is heron."
    assert "The code word is heron." in in_marks(upstream.told)
    assert texts(settings, "monday") == KEPT


async def test_langchains_client_that_awaits_and_names_its_user_in_the_body(
    url: str, upstream: Upstream, settings: Settings
) -> None:
    more = {"user": "alex", "metadata": {"session_id": "monday"}}
    chat = ChatOpenAI(base_url=url, api_key="any", model="small", extra_body=more)  # type: ignore[arg-type]
    assert (await chat.ainvoke(QUESTION)).content == "It is heron."
    assert upstream.bodies[-1]["user"] == "alex"
    assert texts(settings, "monday") == KEPT
