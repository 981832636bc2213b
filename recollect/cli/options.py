"""What the commands share: options for scope, times and --json, confirmation before erasing, and `print_with`.

    @print_with(show_memory)
    def close(command: Command, memory_id: Id) -> Memory: ...

A command returns its result; `print_with` adds the common options and prints the result, or with --json its JSON.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, nullcontext
from datetime import datetime
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from recollect.cli.output import FAILED, open_engine, print_json, replace_control_chars, show_spinner, stdout_console
from recollect.errors import InvalidInput
from recollect.settings import read_settings
from recollect.values.scope import Scope
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from recollect.sync import SyncEngine


def parse_time(text: str | datetime) -> datetime:
    """Return an ISO time; the library takes a time without a zone as UTC."""
    if isinstance(text, datetime):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an ISO time such as 2026-05-01T14:30") from None


def argument(metavar: str, help_text: str) -> Any:
    """Return a positional argument that is shown under its name in the help."""
    return typer.Argument(metavar=metavar, help=help_text, show_default=False)


User = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="RECOLLECT_USER", help="The user.", show_default="your login name"),
]
Session = Annotated[str | None, typer.Option("--session", "-s", help="The conversation.")]
Project = Annotated[
    str | None,
    typer.Option("--project", "-p", help="The project.", show_default="RECOLLECT_PROJECT, else default"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]

Question = Annotated[str, argument("QUESTION", "What to search for.")]
SearchScope = Annotated[
    str,
    typer.Option("--scope", metavar="auto|session|user", help="Where to search; auto starts with the session."),
]
HitKinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="turn|memory|episode", help="Only this kind; repeatable.", show_default="all"),
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=parse_time, metavar="TIME", help="Ignore everything after this time."),
]
Recency = Annotated[float, typer.Option(help="Weight of recent turns.")]
Exclude = Annotated[list[str] | None, typer.Option(metavar="REF", help="A turn to leave out; repeatable.")]
Define = Annotated[
    list[str] | None,
    typer.Option("--define", "-d", metavar="TERM=MEANING", help="What a word means in this session; repeatable."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def make_scope(user: str | None, session: str | None, project: str | None) -> Scope:
    """Return the scope of a command; the user defaults to the login name."""
    if not user:
        try:
            user = getpass.getuser()
        except (OSError, KeyError):
            problem = "this account has no login name; use --user or set RECOLLECT_USER"
            raise InvalidInput("user", problem) from None
    return Scope(user, session, project or read_settings().project)


def confirm(action: str, yes: bool) -> None:
    """Ask for confirmation on a terminal unless --yes was given; elsewhere --yes is required."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"there is no terminal to confirm on; use --yes to {action.split()[0].lower()}")
    typer.confirm(f"{action} permanently?", abort=True, err=True)


class Command:
    """A running command: whose memory is meant, and the engine, which is opened when it is first used."""

    def __init__(self, stack: ExitStack, as_json: bool, options: Mapping[str, Any]) -> None:
        self._stack = stack
        self.as_json = as_json
        self.options = options  # those that several commands share

    @property
    def project(self) -> str:
        return self.options.get("project") or read_settings().project

    @cached_property
    def scope(self) -> Scope:
        return make_scope(*(self.options.get(name) for name in ("user", "session", "project")))

    @cached_property
    def engine(self) -> SyncEngine:
        return self._stack.enter_context(open_engine())

    def require_session(self) -> str:
        if self.scope.session is None:
            raise InvalidInput("session", "is required; use --session")
        return self.scope.session


def add_option(name: str, annotation: Any, default: Any = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


PROJECT = (add_option("project", Project),)
SCOPE = (add_option("user", User), *PROJECT)
SESSION_SCOPE = (add_option("session", Session), *SCOPE)
QUERY = (
    *(add_option("as_of", AsOf), add_option("recency", Recency, 0.0), add_option("exclude", Exclude)),
    *(add_option("define", Define), add_option("kind", HitKinds)),
)
JSON = add_option("json", Json, False)


def print_with(
    show: Callable[[Console, Any], object] | None,
    *,
    key: str = "",
    convert: Callable[[Any], Any] = to_json,
    options: tuple[Parameter, ...] = SCOPE,
    spinner: str = "",
    is_failed: Callable[[Any], object] = lambda _: False,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a command of a function: it gets a `Command`; its result is shown, or with --json printed after `convert`.

    The function may be async. With a `key` the result is a list, and its JSON an object with the list under that key.
    A result that `is_failed` ends the program with exit code 1. With None for `show` the function prints by itself.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        function.__annotations__.pop("return", None)  # its type may be imported by type checkers only
        taken = list(signature(function, eval_str=True).parameters.values())[1:]
        parameters = [*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in taken), *options, JSON]

        @wraps(function)
        def run(*, json: bool, **given: Any) -> None:
            shared = {each.name: given.pop(each.name) for each in options}
            with show_spinner(spinner) if spinner else nullcontext(), ExitStack() as stack:
                result = finish(function(Command(stack, json, shared), **given))
            if json and show:
                print_json({key: list(map(convert, result))} if key else convert(result))
            elif show:
                show(stdout_console(), result)
            if is_failed(result):
                raise typer.Exit(FAILED)

        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def finish(result: Any) -> Any:
    """Return the result of a command, which may be a coroutine."""
    return asyncio.run(result) if isinstance(result, Coroutine) else result


def echo(describe: Callable[[Any], str]) -> Callable[[Console, Any], None]:
    """Return a function that shows a result as the text that `describe` makes of it."""
    return lambda _, result: typer.echo(replace_control_chars(describe(result)))
