"""`recollect` as a command that starts at once: a process that has imported it forks for each call.

The imports are most of what a short command costs. The command has its own process, folder, environment, standard
streams and exit code, and can be told to stop. That the program itself starts is tested in cli/test_cli_program.py.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

COMMAND = """#!{python} -SE
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"-"], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    told = server.makefile()
    process = int(told.readline())
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, _: os.kill(process, number))
    sys.exit(int(told.readline() or 1))
"""


@contextmanager
def forking(folder: Path) -> Iterator[str]:
    """The path of a command `recollect`, until the end."""
    address, command = str(folder / "socket"), folder / "recollect"
    command.write_text(COMMAND.format(python=sys.executable, address=address))
    command.chmod(0o755)
    with subprocess.Popen([sys.executable, "-m", __name__, address], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield str(command)
        finally:
            server.terminate()


def serve(address: str) -> None:
    import recollect.bootstrap
    import recollect.cli.app
    import recollect.server.app
    import recollect.server.serve  # noqa: F401
    from recollect.providers.local import find_model_folder, load_matrix, load_tokenizer

    load_matrix(find_model_folder())
    load_tokenizer(find_model_folder())
    assert threading.active_count() == 1, "a process with threads must not fork"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(16)
        os.write(1, b"ready\n")
        while True:
            caller, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                os._exit(answer(caller))
            caller.close()


def answer(caller: socket.socket) -> int:
    """Run the command that the caller sent, as if it had been started; return its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(caller, 1, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    arguments, folder, environment = json.loads(caller.makefile().readline())
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["recollect", *arguments]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    caller.sendall(b"%d\n" % os.getpid())
    code = run(arguments)
    for output in (sys.stdout, sys.stderr):
        with suppress(OSError):  # a reader that has left
            output.flush()
    caller.sendall(b"%d\n" % code)
    return code


def run(arguments: list[Any]) -> int:
    from recollect.cli import main

    try:
        return main(arguments)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 1


if __name__ == "__main__":
    serve(sys.argv[1])
