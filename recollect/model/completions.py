"""A chat completion as OpenAI's clients ask for it, read without being changed: who asks, in which conversation, what
is new in it; and the same request with what is remembered put before the question. Pure; hosts/chat/proxy.py calls it.

Clients send the whole conversation each time. New is what the user said after the last reply; each message is named by
everything that was said up to it (`key`), so that a message that is sent again has the name it had before. What comes
before is taken as recorded already, or as an example that nobody said. What is not ours stays the bytes it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.model.conversation import Turn

Raw = msgspec.Raw
IDENTITY_FIELDS = ("user", "safety_identifier")
UNSAID = ("system", "developer")  # may differ each time, e.g. by the hour
SESSION_PREFIX = "chat-"


class Wire(msgspec.Struct):
    """Of a message, what is looked at."""

    role: str = ""
    content: Raw = Raw(b"null")


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str  # of its text parts; empty where there are none
    content: bytes


@dataclass(frozen=True, slots=True)
class Completion:
    """A request with a question in it: the text of the last message of the user's, at `at`."""

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
        """One conversation begins with one message, and sends it again each time."""
        first = next(message for message in self.messages if message.role == "user")
        return SESSION_PREFIX + hashlib.sha256(first.text.encode(errors="replace") or first.content).hexdigest()[:24]

    @property
    def new(self) -> list[int]:
        """The user's messages since the last reply, the question being the last of them."""
        found: list[int] = []
        for place in range(self.at, -1, -1):
            if self.messages[place].role == "assistant":
                break
            if self.messages[place].role == "user" and self.messages[place].text:
                found.append(place)
        return found[::-1]

    @property
    def earlier(self) -> list[str]:
        """What the user said before the question."""
        return [message.text for message in self.messages[: self.at] if message.role == "user" and message.text]

    @property
    def is_alone(self) -> bool:
        """It brings nothing that was said before."""
        return all(message.role in UNSAID for message in self.messages[: self.at])

    @property
    def goes_on(self) -> bool:
        """The question was sent before: calls of tools, and their results, follow it."""
        return self.at < len(self.messages) - 1

    @property
    def shown(self) -> frozenset[str]:
        return frozenset(message.text for message in self.messages if message.text)

    def key(self, place: int, session: str) -> str:
        digest = hashlib.sha256(session.encode(errors="replace"))
        for message in self.messages[: place + 1]:
            if message.role not in UNSAID:
                digest.update(b"\0" + message.role.encode(errors="replace") + b"\0" + message.content)
        return f"completion {digest.hexdigest()}"

    def with_memory(self, remembered: str) -> bytes:
        """The same request; before the question, in the same message, stands what is remembered."""
        messages = msgspec.json.decode(self.fields["messages"], type=list[Raw])
        message = msgspec.json.decode(messages[self.at], type=dict[str, Raw])
        message["content"] = Raw(msgspec.json.encode(prefixed(message["content"], remembered)))
        messages[self.at] = Raw(msgspec.json.encode(message))
        return msgspec.json.encode({**self.fields, "messages": messages})


def read_completion(body: bytes) -> Completion | None:
    """None where nobody asks anything in words; what to make of that is for the upstream to say."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, Raw])
        wires = msgspec.json.decode(fields.get("messages", b"[]"), type=list[Wire])
        messages = [Message(wire.role, spoken_text(json_in(wire.content)), bytes(wire.content)) for wire in wires]
        names = names_in(fields)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    at = next((place for place in range(len(messages) - 1, -1, -1) if messages[place].role == "user"), -1)
    return Completion(body, fields, messages, at, *names) if at >= 0 and messages[at].text.strip() else None


def names_in(fields: Mapping[str, Raw]) -> tuple[str | None, str | None, str | None]:
    """The model, the user and the session, as far as they are named."""
    metadata = json_in(fields.get("metadata"))
    kept = metadata if isinstance(metadata, dict) else {}
    users = (kept.get("user_id"), *(json_in(fields.get(name)) for name in IDENTITY_FIELDS))
    user = next(filter(None, map(named, users)), None)
    return named(json_in(fields.get("model"))), user, named(kept.get("session_id"))


def named(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def json_in(raw: Raw | None) -> Any:
    return None if raw is None else msgspec.json.decode(raw)


def spoken_text(content: Any) -> str:
    """Content is a text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def prefixed(content: Raw, remembered: str) -> Any:
    said = json_in(content)
    if isinstance(said, str):
        return f"{remembered}\n\n{said}"
    return [{"type": "text", "text": remembered}, *msgspec.json.decode(content, type=list[Raw])]


def said_before(asked: Completion, log: Sequence[Turn], is_retry: bool) -> Turn | None:
    """The question's turn in the `log`, the end of its session, where the request goes on with it or tries it again."""
    said = next((turn for turn in reversed(log) if turn.role == "user" and turn.text == asked.question), None)
    if said is None:
        return None
    last = next((turn for turn in reversed(log) if answers(turn, said)), None)
    failed = last is not None and (last.data or {}).get("error_stage") is not None
    return said if asked.goes_on or is_retry or failed else None


def answers(turn: Turn, question: Turn) -> bool:
    return (turn.data or {}).get("answers") == question.ref


def is_said_anew(asked: Completion, log: Sequence[Turn], names_session: bool) -> bool:
    """A client that names its session and sends only what is new may say the same thing twice ("yes")."""
    others = any(turn.role == "user" and turn.text != asked.question for turn in log)
    return names_session and asked.is_alone and others


def excluded(asked: Completion, log: Sequence[Turn], ref: str) -> tuple[str, ...]:
    """What memory need not find: the question, replies to it, and what the request shows in any case."""
    shown = [turn.ref for turn in log if turn.text in asked.shown or (turn.data or {}).get("answers") == ref]
    return tuple(dict.fromkeys((ref, *shown)))
