"""What the commands share: options for scope, times and --json, confirmation before erasing, and `print_with`. What the
help says of an option is in options.toml.

    @print_with(show_memory)
    def close(command: Command, memory_id: Id) -> Memory: ...

A command returns its result; `print_with` adds the common options and prints the result, or with --json its JSON.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
import tomllib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from datetime import datetime
from functools import cached_property, reduce, wraps
from inspect import Parameter, Signature, signature
from operator import or_
from pkgutil import get_data
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer
from rich.console import Console

from recollect import InvalidInput, Scope, Settings
from recollect.cli.output import FAILED, open_engine, print_json, replace_control_chars, show_spinner, stdout_console
from recollect.settings import read_settings
from recollect.values.query import Kind
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


OPTIONS = tomllib.loads((get_data("recollect.cli", "options.toml") or b"").decode())
Json = Annotated[bool, typer.Option("--json", help=OPTIONS["shared"]["json"]["help"])]  # for other programs


def describe_option(kind: Any, row: Mapping[str, Any]) -> Any:
    """Return the type of a parameter with what options.toml says of it, as typer takes it. Choices are only named: the
    library checks them."""
    about = dict(row)
    flags, is_argument = about.pop("flags", ()), about.pop("argument", False)
    if choices := list_choices(kind):
        about["metavar"] = "|".join(choices)
    if kind == datetime | None:
        about |= {"metavar": "TIME", "parser": parse_time}
    shown = typer.Argument(show_default=False, **about) if is_argument else typer.Option(*flags, **about)
    return Annotated[replace_choices(kind), shown]


def list_choices(kind: Any) -> tuple[str, ...]:
    """Return the choices of the Literal in a type, if there is one."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next(filter(None, map(list_choices, get_args(kind))), ())


def replace_choices(kind: Any) -> Any:
    """Return a type with `str` in place of each Literal."""
    origin, inner = get_origin(kind), tuple(map(replace_choices, get_args(kind)))
    if origin is None or origin is Literal:
        return kind if origin is None else str
    return reduce(or_, inner) if origin in (Union, UnionType) else origin[inner]


def write_name(name: str, row: Mapping[str, Any]) -> str:
    """Return a parameter as it is written on the command line: `--limit`, or `QUESTION` for an argument."""
    if row.get("argument"):
        return str(row.get("metavar", name.upper())).strip("[].")
    return str(row.get("flags", [f"--{name.replace('_', '-')}"])[0]).partition("/")[0]


def set_parameters(
    run: Callable[..., None], command: Callable[..., Any], parameters: Iterable[Parameter]
) -> Callable[..., None]:
    """Return a function that typer runs as a command. It has these parameters, each with its row of options.toml, and
    its errors name them as they are written on the command line."""
    own = OPTIONS.get(command.__module__.rpartition(".")[2], {}).get(command.__name__, {})
    rows = {**OPTIONS["shared"], **own}
    described = [each.replace(annotation=describe_option(each.annotation, rows[each.name])) for each in parameters]
    written = {each.name: write_name(each.name, rows[each.name]) for each in described}

    @wraps(command)
    def run_command(**given: Any) -> None:
        try:
            run(**given)
        except InvalidInput as error:
            raise error.as_written(written) from error

    run_command.__signature__ = Signature(described)  # type: ignore[attr-defined]
    run_command.__annotations__ = {each.name: each.annotation for each in described}
    return run_command


def describe_options(command: Callable[..., None]) -> Callable[..., None]:
    """Describe the options of a command that prints by itself."""
    command.__annotations__.pop("return", None)
    return set_parameters(command, command, signature(command, eval_str=True).parameters.values())


def make_scope(user: str | None, session: str | None, project: str | None) -> Scope:
    """Return the scope of a command; the user defaults to the login name."""
    if not user:
        try:
            user = getpass.getuser()
        except (OSError, KeyError):
            problem = "this account has no login name; name a user here or in RECOLLECT_USER"
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

    @cached_property
    def settings(self) -> Settings:
        return read_settings()

    @property
    def project(self) -> str:
        return self.options.get("project") or self.settings.project

    @cached_property
    def scope(self) -> Scope:
        return make_scope(*(self.options.get(name) for name in ("user", "session", "project")))

    @cached_property
    def engine(self) -> SyncEngine:
        return self._stack.enter_context(open_engine())

    def require_session(self) -> str:
        if self.scope.session is None:
            raise InvalidInput("session", "is required")
        return self.scope.session


def add_option(name: str, annotation: Any, default: Any = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


PROJECT = (add_option("project", str | None),)
SCOPE = (add_option("user", str | None), *PROJECT)
SESSION_SCOPE = (add_option("session", str | None), *SCOPE)
QUERY = (
    add_option("as_of", datetime | None),
    add_option("recency", float, 0.0),
    *(add_option(name, list[str] | None) for name in ("exclude", "define")),
    add_option("kind", list[Kind] | None),
)
JSON = add_option("json", bool, False)


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

        def run(*, json: bool, **given: Any) -> None:
            shared = {each.name: given.pop(each.name) for each in options}
            with show_spinner(spinner) if spinner else nullcontext(), ExitStack() as stack:
                result = function(Command(stack, json, shared), **given)
                if isinstance(result, Coroutine):
                    result = asyncio.run(result)
            if json and show:
                print_json({key: list(map(convert, result))} if key else convert(result))
            elif show:
                show(stdout_console(), result)
            if is_failed(result):
                raise typer.Exit(FAILED)

        return set_parameters(run, function, parameters)

    return decorate


def echo(describe: Callable[[Any], str]) -> Callable[[Console, Any], None]:
    """Return a function that shows a result as the text that `describe` makes of it."""
    return lambda _, result: typer.echo(replace_control_chars(describe(result)))
