"""A real server on loopback that speaks as much of Anthropic's Messages API as the tool runner needs. Only what the
model says is written beforehand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.in_a_thread import in_a_thread


class Claude:
    """Says what is in `script`, one thing per request; a dict is a call of the memory tool. Keeps what it was sent."""

    def __init__(self) -> None:
        self.script: list[str | dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []

        def respond(handler: BaseHTTPRequestHandler) -> None:
            self.bodies.append(json.loads(handler.rfile.read(int(handler.headers["content-length"]))))
            body = json.dumps(message(self.script.pop(0), len(self.bodies))).encode()
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": respond, "log_message": lambda *_: None})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def hears(self, *script: str | dict[str, Any]) -> None:
        self.script, self.bodies = list(script), []

    @property
    def results(self) -> list[tuple[str, bool]]:
        """What the tool answered, and whether as an error; once each, whether the client sends all again or not."""
        turns = [turn for body in self.bodies for turn in body["messages"] if isinstance(turn["content"], list)]
        blocks = [block for turn in turns for block in turn["content"] if block["type"] == "tool_result"]
        once = {block["tool_use_id"]: block for block in blocks}
        return [(as_text(block["content"]), block.get("is_error", False)) for block in once.values()]


def message(said: str | dict[str, Any], number: int) -> dict[str, Any]:
    is_text = isinstance(said, str)
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": said}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": said} if is_text else call],
        "stop_reason": "end_turn" if is_text else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def as_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def claude_serving() -> Iterator[Claude]:
    one = Claude()
    with in_a_thread(one.http):
        yield one
