"""Run the application with uvicorn. A server without sign-in listens on loopback addresses only (`prepare`)."""

from __future__ import annotations

import errno
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import parent_process

from fastapi import FastAPI

from recollect.admin import refuse_unsafe
from recollect.bootstrap import connect, get_home, open_analyst
from recollect.errors import InvalidInput, Unauthorized
from recollect.server.access.caller import is_loopback
from recollect.server.access.telemetry import SHARED_FOLDER
from recollect.server.app import make_app
from recollect.server.sample import load_sample
from recollect.settings import Settings, read_settings

log = logging.getLogger("recollect.http")
NO_WORKER = "RECOLLECT_SERVE_WITHOUT_WORKER"  # from `serve` to the processes that uvicorn starts
START_SECONDS = 60  # for a new process to be ready, when SIGHUP replaces one after the other
SHUTDOWN_SECONDS = 20  # for running requests when the server is stopped
CLOSE_SECONDS = 10  # more, to close connections
BACKLOG = 2048  # connections that may wait to be accepted
GC_THRESHOLDS = (20_000, 20, 20)  # Python's own are (700, 10, 10)


async def prepare(settings: Settings, host: str, sample: bool) -> bool:
    """Start the embedded server if need be, migrate, load the sample; return whether callers must show a key or token.
    Refuse a database that `recollect db check` finds fault with, and a network address while sign-in is off."""
    # Loading the sample never calls a model: learning from it by rules is complete, and costs nothing.
    plain = replace(settings, model_url="", model="", summary_model="")
    async with connect(plain if sample else settings, worker=False) as engine:
        await refuse_unsafe(settings)
        try:
            await engine.keys.identify(None)
            is_closed = False
        except Unauthorized:
            is_closed = True
        if not is_closed and not is_loopback(host):
            raise InvalidInput(
                "host",
                f"{host} can be reached from other machines, and no identity is configured; make a key with"
                " `recollect keys create --role admin`, set RECOLLECT_JWT_SECRET or _KEYS, or serve on 127.0.0.1",
            )
        if sample:
            async with open_analyst(engine, plain) as analyst:
                await load_sample(engine, analyst, get_home(settings))
    return is_closed


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the address; explain what is wrong if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OverflowError:
        raise InvalidInput("port", f"{port} is not between 0 and 65535") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InvalidInput("port", f"{port} is in use on {host}; choose another with --port") from None
        reason = (error.strerror or str(error)).partition(" (while")[0]
        raise InvalidInput("host", f"cannot listen on {host}, port {port}: {reason}") from None
    # Every connection inherits it. asyncio sets it only on sockets that name their protocol, and this one does not:
    # without it an answer waits 40 ms between its head and its body.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def serve(settings: Settings, listening: socket.socket, *, workers: int, worker: bool, log_level: str) -> None:
    """Serve until the process is stopped; running requests are finished first."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    # uvicorn shuts down and then raises the signal again: a requested stop exits with status 0.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if workers > 1:
        os.environ["RECOLLECT_PROJECT"] = settings.project
        if not worker:
            os.environ[NO_WORKER] = "1"
    config = uvicorn.Config(
        "recollect.server.serve:app" if workers > 1 else lambda: make_logging_app(settings, worker),
        factory=True,
        workers=workers,
        log_level=log_level,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=START_SECONDS,
        access_log=False,
        server_header=False,
        http="httptools",
    )
    with suppress(KeyboardInterrupt):
        if workers > 1:
            with share_metrics():
                Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def share_metrics() -> Iterator[None]:
    """Make a folder in which the processes that uvicorn starts share their metrics, unless one is configured."""
    with tempfile.TemporaryDirectory(prefix="recollect-metrics-", ignore_cleanup_errors=True) as folder:
        os.environ.setdefault(SHARED_FOLDER, folder)
        yield


def app() -> FastAPI:
    """Return the application with settings from the environment, for uvicorn's processes and other ASGI servers."""
    end_with_parent(SHUTDOWN_SECONDS + CLOSE_SECONDS)
    return make_logging_app(read_settings(), NO_WORKER not in os.environ)


def make_logging_app(settings: Settings, worker: bool) -> FastAPI:
    """Return the application, with the log of operations on stderr if it is turned on."""
    operations = logging.getLogger("recollect.operations")
    if settings.log_operations and not operations.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
        operations.addHandler(handler)
        operations.setLevel(logging.INFO)
    # Requests make thousands of objects and no cycles, and collecting garbage took a tenth of the time. What is loaded
    # by now stays loaded, so the collector need not look at it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    return make_app(settings, worker=worker)


def end_with_parent(seconds: float) -> None:
    """Stop this process when the one that started it is gone, as SIGTERM does; after `seconds` end it at once.

    Without this, `kill -9` of `recollect serve --workers N` leaves processes that go on serving and hold the port.
    """
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        # Waits for the end of a pipe whose other end only the parent holds: it closes with the parent on every system,
        # also if the parent was killed before this line.
        parent.join()
        log.warning("the parent process %s is gone: this one ends too", parent.pid)
        signal.raise_signal(signal.SIGTERM)
        threading.Event().wait(seconds)
        os._exit(1)

    threading.Thread(target=watch, name="recollect-parent", daemon=True).start()
