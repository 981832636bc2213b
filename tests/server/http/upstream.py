"""A language model's server on loopback: real HTTP, answers as a test writes them, and every byte that came is kept. It
can be slow, and it can die in mid-sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.in_a_thread import in_a_thread

KEY = "sk-upstream"
JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
USAGE = {"prompt_tokens": 1234, "completion_tokens": 5, "total_tokens": 1239}
SECONDS = 30


@dataclass(frozen=True)
class Scripted:
    """An answer in pieces. `dies`: there is no end after them; `waits`: for this before the last one."""

    pieces: Sequence[bytes]
    status: int = 200
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    dies: bool = False
    waits: threading.Event | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


def said(text: str | None, **message: Any) -> Scripted:
    """A whole completion, spaced as no encoder of ours would."""
    spoken = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": spoken, "finish_reason": "tool_calls" if message else "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "small-2026"}
    return Scripted([json.dumps({**head, "choices": [choice], "usage": USAGE}, indent=1).encode()])


def event(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "small-2026"}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode()


def streamed(*texts: str, **more: Any) -> Scripted:
    pieces = [event({"role": "assistant", "content": ""}), *(event({"content": text}) for text in texts)]
    return Scripted([*pieces, event({}, "stop"), b"data: [DONE]\n\n"], kind=EVENTS, **more)


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that did not wait for its answer is no news."""


class Upstream:
    """Answers with `answer`, which gets the request's body, None where it is no JSON."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes]] = []  # method, path, body
        self.keys: list[str | None] = []
        self.answer: Callable[[Any], Scripted] = lambda _: said("All right.")
        self.http = Quiet(("127.0.0.1", 0), handler(self))
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1/"

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.asked if body]

    @property
    def told(self) -> str:
        """The content of the last message that it was sent."""
        return str(self.bodies[-1]["messages"][-1]["content"])


def handler(upstream: Upstream) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            upstream.asked.append((self.command, self.path, body))
            upstream.keys.append(self.headers["authorization"])
            send(self, upstream.answer(json_in(body)))

        do_GET = do_POST = respond  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def json_in(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def send(to: BaseHTTPRequestHandler, answer: Scripted) -> None:
    to.send_response(answer.status)
    for name, value in {"Content-Type": answer.kind, "Transfer-Encoding": "chunked", **answer.headers}.items():
        to.send_header(name, value)
    to.end_headers()
    for place, piece in enumerate(answer.pieces, 1):
        if answer.waits and place == len(answer.pieces):
            answer.waits.wait(SECONDS)
        to.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    if answer.dies:
        to.close_connection = True
    else:
        to.wfile.write(b"0\r\n\r\n")


@contextmanager
def upstream_server() -> Iterator[Upstream]:
    one = Upstream()
    with in_a_thread(one.http):
        yield one
