"""Serve: the application behind uvicorn. Before it listens, it makes sure that only a loopback address is open to those
who need not say who they are."""

from __future__ import annotations

import errno
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fastapi import FastAPI

from recollect.doors.http.app import make_app
from recollect.doors.http.meters import TOGETHER
from recollect.doors.http.sample import load_sample
from recollect.errors import InvalidInput, Unauthorized
from recollect.settings import Settings, read_settings
from recollect.wire import analysing, connect, home_of

NO_WORKER = "RECOLLECT_SERVE_WITHOUT_WORKER"  # from `serve` to the processes that uvicorn starts
PATIENCE = 20  # seconds for requests at hand when the server is told to stop
WAITING = 2048  # connections that may wait to be accepted
RARELY = (20_000, 20, 20)  # new objects before the collector looks for circles; Python's own is (700, 10, 10)


async def prepare(settings: Settings, host: str, sample: bool) -> bool:
    """Starts the embedded server if need be, migrates, loads the sample; refuses an open door to the network. Says
    whether callers must tell who they are."""
    async with connect(settings, worker=False) as engine:
        try:
            await engine.identify(None)
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
            async with analysing(engine, settings) as analyst:
                await load_sample(engine, analyst, home_of(settings))
    return is_closed


def bound(host: str, port: int) -> socket.socket:
    """A socket of that address, ours from now on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=WAITING)
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
    """Until it is told to stop; requests at hand are finished first."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    # uvicorn finishes first and then repeats the signal it got: told to stop, and stopped, is no failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if workers > 1 and not worker:
        os.environ[NO_WORKER] = "1"
    config = uvicorn.Config(
        "recollect.doors.http.serve:app" if workers > 1 else lambda: logged(settings, worker),
        factory=True,
        workers=workers,
        log_level=log_level,
        timeout_graceful_shutdown=PATIENCE,
        access_log=False,
        server_header=False,
        http="httptools",
    )
    with suppress(KeyboardInterrupt):
        if workers > 1:
            with counting_together():
                Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def counting_together() -> Iterator[None]:
    """A folder in which the processes that uvicorn starts keep their counts, unless there is one."""
    with tempfile.TemporaryDirectory(prefix="recollect-metrics-", ignore_cleanup_errors=True) as folder:
        os.environ.setdefault(TOGETHER, folder)
        yield


def app() -> FastAPI:
    """For uvicorn's own processes, and for other ASGI servers: settings from the environment."""
    return logged(read_settings(), NO_WORKER not in os.environ)


def logged(settings: Settings, worker: bool) -> FastAPI:
    """The application, with its own lines in the log that a server writes."""
    operations = logging.getLogger("recollect.operations")
    if settings.log_operations and not operations.handlers:
        shown = logging.StreamHandler()
        shown.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
        operations.addHandler(shown)
        operations.setLevel(logging.INFO)
    collect_rarely()
    return make_app(settings, worker=worker)


def collect_rarely() -> None:
    """A request makes thousands of values and no circles, and a server has many requests at hand: looking for circles
    among them took a tenth of its time. What is loaded by now stays, and need not be looked at at all."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARELY)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
