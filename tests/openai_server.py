"""A real server on loopback that speaks as much of OpenAI's protocol as a test tells it to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.in_a_thread import in_a_thread

KEY = "sk-hunter2"
PATHS = ("/v1/embeddings", "/v1/chat/completions")
Text = str | Iterator[bytes]  # whole, or piece by piece
Answer = tuple[int, Text] | tuple[int, Text, Mapping[str, str]]  # status, body and perhaps headers


class Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that did not wait for its answer is no news."""


class Server:
    """Answers with `answer`; keeps the bodies and the keys that it got."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[str | None] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda _: (200, "{}")

        def respond(handler: BaseHTTPRequestHandler) -> None:
            body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
            self.bodies.append(body)
            self.headers.append(handler.headers["authorization"])
            answer = self.answer(body) if handler.path in PATHS else (404, "no such path", {})
            status, text, headers = answer if len(answer) == 3 else (*answer, {})
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            for piece in [text.encode()] if isinstance(text, str) else text:
                handler.wfile.write(piece)

        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": respond, "log_message": lambda *_: None})
        self.http = Quiet(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1/"


@contextmanager
def serving() -> Iterator[Server]:
    one = Server()
    with in_a_thread(one.http):
        yield one
