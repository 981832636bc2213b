"""Patterns: approved queries with parameters. "sales in {{year}}" answers "Sales in 2023?" with the SQL that somebody
approved, the year put in as a literal. A question fits as a whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.values.memory import Memory

ParameterType = Literal["text", "integer", "number", "date", "year"]
SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")
QUOTED_SLOT = re.compile(r"'\{\{\s*(\w+)\s*\}\}'|\{\{\s*(\w+)\s*\}\}")
FORMS: Mapping[str, str] = {
    "text": r"(.{1,80}?)",
    "integer": r"(-?\d{1,15})",
    "number": r"(-?\d{1,15}(?:\.\d{1,9})?)",
    "date": r"(\d{4}-\d{2}-\d{2})",
    "year": r"([12]\d{3})",
}
EXAMPLES = {"text": "x", "integer": "1", "number": "1", "date": "2024-01-01", "year": "2024"}
EDGES = " \t\n?!.,;:。？！，"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: ParameterType = "text"
    default: str | None = None
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """What somebody asks, with `{{name}}` for what varies, and the SQL for it."""

    prompt: str
    sql: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def defaults(self) -> dict[str, str]:
        return {each.name: each.default for each in self.parameters if each.default is not None}

    def parameter(self, name: str) -> Parameter:
        return next((each for each in self.parameters if each.name == name), Parameter(name))


def check_pattern(prompt: str, sql: str, parameters: Sequence[Mapping[str, Any]] = ()) -> Pattern:
    """Return a pattern as callers give it. Every name in the SQL must be in the prompt or have a default, every
    parameter must be in the SQL, once described, and its default and example must be of its type."""
    pattern = make_pattern(prompt, sql, parameters)
    asked, used, described = set(SLOT.findall(prompt)), set(SLOT.findall(sql)), set[str]()
    for name in sorted(used - asked - set(pattern.defaults)):
        raise InvalidInput("sql", f"{{{{{name}}}}} is not in the prompt and has no default")
    for name in sorted(asked - used):
        raise InvalidInput("sql", f"does not use {{{{{name}}}}}, which the prompt has")
    for n, parameter in enumerate(pattern.parameters):
        if parameter.name not in used - described:
            problem = "is described twice" if parameter.name in used else "is not used in the SQL"
            raise InvalidInput(f"parameters[{n}].name", f"{parameter.name!r} {problem}")
        described.add(parameter.name)
        for value in filter(None, (parameter.default, parameter.example)):
            write_literal(parameter, value)
    return pattern


def read_pattern(memory: Memory) -> Pattern:
    """Return the pattern that a stored question is."""
    return make_pattern(memory.key, memory.value, (memory.data or {}).get("parameters") or ())


def make_pattern(prompt: str, sql: str, parameters: Sequence[Mapping[str, Any]] = ()) -> Pattern:
    return Pattern(prompt, sql, tuple(read_parameter(n, each) for n, each in enumerate(parameters)))


def read_parameter(n: int, given: Mapping[str, Any]) -> Parameter:
    field = f"parameters[{n}]"
    if not isinstance(given, Mapping) or not re.fullmatch(r"\w{1,50}", str(given.get("name", ""))):
        raise InvalidInput(f"{field}.name", "give each parameter a name of letters, digits and _")
    kind = given.get("type", "text")
    if kind not in get_args(ParameterType):
        raise InvalidInput(f"{field}.type", f"{kind!r} is not one of {', '.join(get_args(ParameterType))}")
    texts = {key: None if given.get(key) is None else str(given[key]) for key in ("default", "example")}
    return Parameter(str(given["name"]), kind, **texts)


def normalize_question(question: str) -> str:
    """Return what counts when two questions are compared: not case, blanks or the mark at the end."""
    return " ".join(question.casefold().split()).strip(EDGES)


def match_pattern(pattern: Pattern, question: str) -> dict[str, str] | None:
    """Return the values of the parameters if the question is of this form."""
    pieces = SLOT.split(pattern.prompt)
    # The names of slots keep their case.
    marked = [f"{{{{{piece}}}}}" if n % 2 else piece.casefold() for n, piece in enumerate(pieces)]
    pieces = SLOT.split(" ".join("".join(marked).split()).strip(EDGES))
    forms = [FORMS[pattern.parameter(each).type] if n % 2 else re.escape(each) for n, each in enumerate(pieces)]
    found = re.fullmatch("".join(forms), normalize_question(question))
    if found is None:
        return None
    written = " ".join(question.split())
    values = dict(pattern.defaults)
    for name, value in zip(pieces[1::2], found.groups(), strict=True):
        at = written.casefold().find(value)  # values keep the case in which they were written
        values[name] = written[at : at + len(value)].strip(EDGES) if at >= 0 else value
    return values


def fill_pattern(pattern: Pattern, values: Mapping[str, str]) -> str:
    """Return the SQL with the values as literals. It still has to pass the gate."""
    known = {**pattern.defaults, **values}

    def write(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in known:
            raise InvalidInput(f"parameters.{name}", "has no value and no default")
        return write_literal(pattern.parameter(name), known[name])

    return QUOTED_SLOT.sub(write, pattern.sql)


def fill_examples(pattern: Pattern) -> str:
    """Return the SQL with some value everywhere, to see whether it would pass the gate."""
    used = [pattern.parameter(name) for name in SLOT.findall(pattern.sql)]
    return fill_pattern(pattern, {each.name: each.example or each.default or EXAMPLES[each.type] for each in used})


def write_literal(parameter: Parameter, value: str) -> str:
    field = f"parameters.{parameter.name}"
    if parameter.type in ("integer", "number", "year"):
        if not re.fullmatch(FORMS[parameter.type], value):
            raise InvalidInput(field, f"{value!r} is not of type {parameter.type}")
        return value
    if parameter.type == "date":
        try:
            return f"'{date.fromisoformat(value).isoformat()}'"
        except ValueError:
            raise InvalidInput(field, f"{value!r} is not a date like 2024-05-31") from None
    if "\\" in value or "\0" in value:
        raise InvalidInput(field, "has a backslash or NUL")
    return "'" + value.replace("'", "''") + "'"


# Shapes ---------------------------------------------------------------------------------------------------------------


LONG_NUMBER = re.compile(r"\d{5,}")  # may be somebody's
DATE = re.compile(r"^(\d{4})-\d{2}-\d{2}$")


def shape_of(question: str, sql: str, dialect: str) -> Pattern | None:
    """Return a question and its statement with parameters for what both name. None where a text of the statement is not
    in the question, so that nobody could say what it should be, or where a long number would stay in it. Numbers that
    are not in the question belong to the statement (LIMIT 5); days stay."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return None
    prompt = normalize_question(question)
    parameters = list[Parameter]()
    for literal in list(tree.find_all(exp.Literal)):
        value = str(literal.this)
        named = re.escape(normalize_question(value))
        said = re.search(rf"(?<![\w.]){named}(?![\w.])", prompt) if named else None
        if said is None or DATE.match(value):
            if literal.is_string and not DATE.match(value):
                return None
            continue
        name = f"p{len(parameters) + 1}"
        prompt = f"{prompt[: said.start()]}{{{{{name}}}}}{prompt[said.end() :]}"
        literal.replace(exp.Literal.string(f"{{{{{name}}}}}"))
        parameters.append(Parameter(name, "text" if literal.is_string else "number"))
    return None if LONG_NUMBER.search(prompt) else Pattern(prompt, tree.sql(dialect=dialect), tuple(parameters))
