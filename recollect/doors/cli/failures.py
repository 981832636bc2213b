"""What an error becomes outside: one line on stderr, or with --json one object there, and an exit code."""

from __future__ import annotations

import json

import typer

from recollect.errors import InvalidInput, InvalidSetting, RecollectError

FAILED, UNUSABLE, NOT_FOUND, UNAVAILABLE = 1, 2, 3, 4
EXIT_CODES = {
    "invalid_request": UNUSABLE,
    "invalid_setting": UNUSABLE,
    "not_found": NOT_FOUND,
    "unavailable": UNAVAILABLE,
}


def report(error: RecollectError, as_json: bool) -> int:
    say(error.code, str(error), field_of(error), as_json)
    return EXIT_CODES.get(error.code, FAILED)


def report_usage(error: typer.TyperException, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} --help`)" if context else ""
    say("usage", f"{error.format_message().rstrip('.')}{hint}", None, as_json)
    return error.exit_code


def report_abort(as_json: bool) -> int:
    """The person answered no, or left."""
    say("aborted", "nothing was done", None, as_json)
    return FAILED


def field_of(error: RecollectError) -> str | None:
    match error:
        case InvalidInput():
            return error.field
        case InvalidSetting():
            return error.setting
        case _:
            return None


def say(code: str, message: str, field: str | None, as_json: bool) -> None:
    line = " ".join(message.split())
    if as_json:
        told = {"code": code, "message": line} | ({"field": field} if field else {})
        typer.echo(json.dumps({"error": told}), err=True)
    else:
        typer.echo(f"recollect: {line}", err=True)
