"""What an upstream answered in OpenAI's form, listened to on its way past: whole, or as server-sent events. Only the
first choice counts. Pure; hosts/chat/proxy.py feeds it and passes the bytes on as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.model.completions import spoken_text

DATA = b"data:"
DONE = b"[DONE]"
ERROR_CHARS = 300


@dataclass(slots=True)
class Spoken:
    """A reply so far. `calls` are the names of the tools it wants called; `ended`: it said that this was all."""

    text: str = ""
    model: str | None = None
    calls: list[str] = field(default_factory=list)
    ended: bool = False
    error: str | None = None

    def take(self, answer: Any, part: str) -> None:
        """An object of OpenAI's; the words are in `message`, or in `delta`. Of another form: not ours to judge."""
        if not isinstance(answer, dict):
            return
        if answer.get("error"):
            self.error = str(answer["error"])[:ERROR_CHARS]
        if isinstance(answer.get("model"), str):
            self.model = answer["model"] or self.model
        for choice in listed(answer.get("choices")):
            if choice.get("index", 0) == 0:
                self._take_choice(choice, part)

    def _take_choice(self, choice: dict[str, Any], part: str) -> None:
        said = choice.get(part)
        self.ended = self.ended or choice.get("finish_reason") is not None
        if isinstance(said, dict):
            self.text += spoken_text(said.get("content")) or spoken_text(said.get("refusal"))
            wanted = listed([call.get("function") for call in listed(said.get("tool_calls"))])
            self.calls += [str(function["name"]) for function in wanted if function.get("name")]


def listed(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def spoken_whole(body: bytes) -> Spoken:
    spoken = Spoken(ended=True)
    spoken.take(decoded(body), "message")
    return spoken


@dataclass(slots=True)
class Events:
    """A stream of events. Bytes go in, whole lines come out: what is cut off in mid-line no client can read."""

    spoken: Spoken = field(default_factory=Spoken)
    is_done: bool = False  # the mark of the end came, or was made up
    _rest: bytes = b""
    _is_between: bool = True  # the last line that came out was an empty one

    def feed(self, piece: bytes) -> bytes:
        whole, newline, self._rest = (self._rest + piece).rpartition(b"\n")
        return self._passed(whole + newline)

    def last(self) -> bytes:
        """What has come without the end of its line, if it can be read all the same."""
        rest, self._rest = self._rest, b""
        is_whole = DONE in rest or decoded(rest.removeprefix(DATA)) is not None
        return self._passed(rest) if is_whole else b""

    def broken_off(self, error: dict[str, Any]) -> bytes:
        """An end for a stream that has none, as OpenAI tells of an error in mid-stream."""
        self.is_done = True
        gap = b"" if self._is_between else b"\n\n"
        return gap + DATA + b" " + msgspec.json.encode({"error": error}) + b"\n\n" + DATA + b" " + DONE + b"\n\n"

    def _passed(self, lines: bytes) -> bytes:
        for line in lines.splitlines():
            self._is_between = not line.strip()
            if line.startswith(DATA):
                self._take(line.removeprefix(DATA).strip())
        return lines

    def _take(self, data: bytes) -> None:
        if data == DONE:
            self.is_done = self.spoken.ended = True
        else:
            self.spoken.take(decoded(data), "delta")


def decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
