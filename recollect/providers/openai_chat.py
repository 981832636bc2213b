"""The reasoner for every server that speaks OpenAI's protocol: `POST /chat/completions`, with a JSON schema if asked.

Not every such server knows JSON schemas. One that refuses them is asked for a JSON object with the schema beside it (as
llama-cpp-python wants it), for any JSON object, for plain text. Newer models of OpenAI's own refuse `max_tokens` and
any temperature, and say so. What a server took is remembered for as long as the adapter lives. The caller checks the
answer in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from recollect.errors import ReasonerConfused, ReasonerFailed
from recollect.ports import Message, Reply
from recollect.providers.model_gate import gate_for
from recollect.providers.openai_http import Answer, OpenAIServer

Form = Literal["schema", "object with schema", "object", "text"]
QUIRKS = ("max_completion_tokens", "temperature")
# How servers name the context: llama.cpp, vLLM, LM Studio, OpenRouter and others.
WINDOWS = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "max_context_length")
FORMS: Sequence[Form] = ("schema", "object with schema", "object", "text")


class OpenAIReasoner:
    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        *,
        timeout: float = 300.0,
        first: float | None = None,
        window: int = 0,
        slots: int = 1,
    ) -> None:
        """`timeout` is for a whole answer, `first` until a streamed one begins; `window` is the context window in
        tokens, 0 if the server is to be asked."""
        self.name = f"openai:{model}"
        self._server = OpenAIServer(url, key, timeout, ReasonerFailed, first)
        self._gate = gate_for(self._server.url, slots)
        self._model = model
        self._window = window or None
        self._forms = FORMS
        self._quirks = frozenset[str]()

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Reply:
        said = [{"role": message.role, "content": message.text} for message in messages]
        body = {"model": self._model, "messages": said, "max_tokens": max_tokens, "temperature": temperature}
        answer = await self._gate.run(lambda: self._post(body) if schema is None else self._post_formed(body, schema))
        reply, is_cut = reply_in(self._server.read(answer))
        if is_cut and schema is not None:
            raise ReasonerConfused(f"{self.name} was cut off at {max_tokens} tokens; allow more, or send fewer turns")
        return reply

    async def window(self) -> int:
        """Return the tokens of the context window, as set, or as the server says; 0 if it does not say."""
        if self._window is None:
            self._window = find_window(await self._server.get("/models"), self._model)
        return self._window

    async def close(self) -> None:
        await self._server.close()

    async def _post(self, body: dict[str, Any]) -> Answer:
        answer = await self._server.post("/chat/completions", adapted(body, self._quirks))
        named = frozenset(quirk for quirk in QUIRKS if answer.status == 400 and quirk in answer.text)
        if named <= self._quirks:
            return answer
        self._quirks |= named
        return await self._post(body)

    async def _post_formed(self, body: dict[str, Any], schema: Mapping[str, Any]) -> Answer:
        """In the strictest form the server takes. If it takes none, the form was not what it refused."""
        for at, form in enumerate(self._forms):
            answer = await self._post(body | response_format(form, schema))
            if not answer.refuses_form:
                self._forms = self._forms[at:]
                break
        return answer


def find_window(models: Mapping[str, Any], name: str) -> int:
    """Return the context window in a list of models: llama.cpp, vLLM and others name it differently; 0 if none does."""
    listed = [each for each in models.get("data") or () if isinstance(each, dict)]
    for model in [each for each in listed if each.get("id") == name] or listed[:1]:
        told = {**model, **(model.get("meta") or {})}
        sizes = [told.get(field) for field in WINDOWS]
        return next((size for size in sizes if isinstance(size, int) and size > 0), 0)
    return 0


def adapted(body: Mapping[str, Any], quirks: frozenset[str]) -> dict[str, Any]:
    made = dict(body)
    if "max_completion_tokens" in quirks:
        made["max_completion_tokens"] = made.pop("max_tokens")
    if "temperature" in quirks:
        del made["temperature"]
    return made


def response_format(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
    match form:
        case "schema":
            named = {"name": str(schema.get("title", "answer")), "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case "object with schema":
            return {"response_format": {"type": "json_object", "schema": schema}}
        case "object":
            return {"response_format": {"type": "json_object"}}
        case "text":
            return {}


def reply_in(answer: dict[str, Any]) -> tuple[Reply, bool]:
    """The reply, and whether it was cut off before its end."""
    try:
        [choice, *_] = answer["choices"]
        text, why = choice["message"]["content"], choice.get("finish_reason")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReasonerFailed("the answer has no message in it") from None
    if not isinstance(text, str):
        raise ReasonerFailed(f"the answer's message has no text in it (finish_reason {why!r})")
    usage = answer.get("usage")
    return Reply(text, counted(usage, "prompt_tokens"), counted(usage, "completion_tokens")), why == "length"


def counted(usage: object, name: str) -> int:
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) else 0
