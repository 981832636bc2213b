"""Chat completions in OpenAI's form: requests, replies and events, read without changing their bytes. Pure; proxy.py
calls it.

Clients send the whole conversation each time. The user's messages after the last reply are new. `key` identifies a
message by everything up to it, so a message that is sent again has the same key. Earlier messages count as already
recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.values.conversation import Turn

Raw = msgspec.Raw
IDENTITY_FIELDS = ("user", "safety_identifier")
UNRECORDED_ROLES = ("system", "developer")  # may differ each time, for example by the time of day
SESSION_PREFIX = "chat-"
DATA = b"data:"
DONE = b"[DONE]"
ERROR_CHARS = 300


class RawMessage(msgspec.Struct):
    """The parts of a message that are read."""

    role: str = ""
    content: Raw = Raw(b"null")


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str  # of its text parts; empty if there are none
    content: bytes


@dataclass(frozen=True, slots=True)
class Completion:
    """A request with a question: the text of the user's last message, at index `at`."""

    body: bytes
    fields: Mapping[str, Raw]
    messages: Sequence[Message]
    at: int
    model: str | None = None
    user: str | None = None
    session: str | None = None

    @property
    def question(self) -> str:
        return self.messages[self.at].text

    @property
    def derived_session(self) -> str:
        """Return a session id made from the first message, which a conversation sends again each time."""
        first = next(message for message in self.messages if message.role == "user")
        return SESSION_PREFIX + hashlib.sha256(first.text.encode(errors="replace") or first.content).hexdigest()[:24]

    @property
    def new(self) -> list[int]:
        """The user's messages since the last reply; the question is the last of them."""
        found: list[int] = []
        for place in range(self.at, -1, -1):
            if self.messages[place].role == "assistant":
                break
            if self.messages[place].role == "user" and self.messages[place].text:
                found.append(place)
        return found[::-1]

    @property
    def earlier(self) -> list[str]:
        """The user's messages before the question."""
        return [message.text for message in self.messages[: self.at] if message.role == "user" and message.text]

    @property
    def is_alone(self) -> bool:
        """Whether the request has no earlier messages."""
        return all(message.role in UNRECORDED_ROLES for message in self.messages[: self.at])

    @property
    def is_continued(self) -> bool:
        """Whether the question was sent before: tool calls and their results follow it."""
        return self.at < len(self.messages) - 1

    @property
    def shown(self) -> frozenset[str]:
        return frozenset(message.text for message in self.messages if message.text)

    def key(self, place: int, session: str) -> str:
        digest = hashlib.sha256(session.encode(errors="replace"))
        for message in self.messages[: place + 1]:
            if message.role not in UNRECORDED_ROLES:
                digest.update(b"\0" + message.role.encode(errors="replace") + b"\0" + message.content)
        return f"completion {digest.hexdigest()}"

    def with_memory(self, remembered: str) -> bytes:
        """Return the same request with the memories in front of the question, in the same message."""
        messages = msgspec.json.decode(self.fields["messages"], type=list[Raw])
        message = msgspec.json.decode(messages[self.at], type=dict[str, Raw])
        message["content"] = Raw(msgspec.json.encode(prefix_content(message["content"], remembered)))
        messages[self.at] = Raw(msgspec.json.encode(message))
        return msgspec.json.encode({**self.fields, "messages": messages})


def read_completion(body: bytes) -> Completion | None:
    """Return the request, or None if it contains no text of a user; the upstream decides what to do with it then."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, Raw])
        wires = msgspec.json.decode(fields.get("messages", b"[]"), type=list[RawMessage])
        messages = [Message(wire.role, content_text(decode_raw(wire.content)), bytes(wire.content)) for wire in wires]
        names = read_names(fields)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    at = next((place for place in range(len(messages) - 1, -1, -1) if messages[place].role == "user"), -1)
    return Completion(body, fields, messages, at, *names) if at >= 0 and messages[at].text.strip() else None


def read_names(fields: Mapping[str, Raw]) -> tuple[str | None, str | None, str | None]:
    """Return the model, the user and the session, if they are given."""
    metadata = decode_raw(fields.get("metadata"))
    kept = metadata if isinstance(metadata, dict) else {}
    users = (kept.get("user_id"), *(decode_raw(fields.get(name)) for name in IDENTITY_FIELDS))
    user = next(filter(None, map(as_name, users)), None)
    return as_name(decode_raw(fields.get("model"))), user, as_name(kept.get("session_id"))


def as_name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def decode_raw(raw: Raw | None) -> Any:
    return None if raw is None else msgspec.json.decode(raw)


def content_text(content: Any) -> str:
    """Return the text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def prefix_content(content: Raw, remembered: str) -> Any:
    said = decode_raw(content)
    if isinstance(said, str):
        return f"{remembered}\n\n{said}"
    return [{"type": "text", "text": remembered}, *msgspec.json.decode(content, type=list[Raw])]


def find_recorded_question(asked: Completion, log: Sequence[Turn], is_retry: bool) -> Turn | None:
    """Return the question's turn in the `log`, the end of its session, if the request continues or retries it."""
    said = next((turn for turn in reversed(log) if turn.role == "user" and turn.text == asked.question), None)
    if said is None:
        return None
    last = next((turn for turn in reversed(log) if is_answer_to(turn, said)), None)
    failed = last is not None and (last.data or {}).get("error_stage") is not None
    return said if asked.is_continued or is_retry or failed else None


def is_answer_to(turn: Turn, question: Turn) -> bool:
    return (turn.data or {}).get("answers") == question.ref


def is_repeated_on_purpose(asked: Completion, log: Sequence[Turn], names_session: bool) -> bool:
    """Whether a client that names its session and sends only new messages says the same thing again ("yes")."""
    others = any(turn.role == "user" and turn.text != asked.question for turn in log)
    return names_session and asked.is_alone and others


def list_excluded(asked: Completion, log: Sequence[Turn], ref: str) -> tuple[str, ...]:
    """Return what memory must not find: the question, replies to it, and turns that the request contains."""
    shown = [turn.ref for turn in log if turn.text in asked.shown or (turn.data or {}).get("answers") == ref]
    return tuple(dict.fromkeys((ref, *shown)))


@dataclass(slots=True)
class UpstreamReply:
    """A reply as received so far. `calls` are the names of the tools to call; `ended` is set by the end of the
    reply."""

    text: str = ""
    model: str | None = None
    calls: list[str] = field(default_factory=list)
    ended: bool = False
    error: str | None = None

    def take(self, answer: Any, part: str) -> None:
        """Add an object in OpenAI's form, whose text is in `message` or `delta`. Objects of another form are
        ignored."""
        if not isinstance(answer, dict):
            return
        if answer.get("error"):
            self.error = str(answer["error"])[:ERROR_CHARS]
        if isinstance(answer.get("model"), str):
            self.model = answer["model"] or self.model
        for choice in objects_in(answer.get("choices")):
            if choice.get("index", 0) == 0:
                self._add_choice(choice, part)

    def _add_choice(self, choice: dict[str, Any], part: str) -> None:
        said = choice.get(part)
        self.ended = self.ended or choice.get("finish_reason") is not None
        if isinstance(said, dict):
            self.text += content_text(said.get("content")) or content_text(said.get("refusal"))
            wanted = objects_in([call.get("function") for call in objects_in(said.get("tool_calls"))])
            self.calls += [str(function["name"]) for function in wanted if function.get("name")]


def objects_in(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def read_reply(body: bytes) -> UpstreamReply:
    spoken = UpstreamReply(ended=True)
    spoken.take(decode_or_none(body), "message")
    return spoken


@dataclass(slots=True)
class Events:
    """A stream of server-sent events. Bytes go in, whole lines come out, because no client can read half a line."""

    spoken: UpstreamReply = field(default_factory=UpstreamReply)
    is_done: bool = False  # the end mark came, or was added
    _rest: bytes = b""
    _is_between: bool = True  # the last line was empty

    def feed(self, piece: bytes) -> bytes:
        whole, newline, self._rest = (self._rest + piece).rpartition(b"\n")
        return self._read_lines(whole + newline)

    def last(self) -> bytes:
        """Return the rest without a line end, if it can be read."""
        rest, self._rest = self._rest, b""
        is_whole = DONE in rest or decode_or_none(rest.removeprefix(DATA)) is not None
        return self._read_lines(rest) if is_whole else b""

    def broken_off(self, error: dict[str, Any]) -> bytes:
        """Return an end for a stream that broke off, in the form in which OpenAI reports an error."""
        self.is_done = True
        gap = b"" if self._is_between else b"\n\n"
        return gap + DATA + b" " + msgspec.json.encode({"error": error}) + b"\n\n" + DATA + b" " + DONE + b"\n\n"

    def _read_lines(self, lines: bytes) -> bytes:
        for line in lines.splitlines():
            self._is_between = not line.strip()
            if line.startswith(DATA):
                self._take(line.removeprefix(DATA).strip())
        return lines

    def _take(self, data: bytes) -> None:
        if data == DONE:
            self.is_done = self.spoken.ended = True
        else:
            self.spoken.take(decode_or_none(data), "delta")


def decode_or_none(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
