"""One statement on its way through the gate: text to tree, nodes, names, cost, row cap, and the tree to text again.

`check_sql` is the entry point. Whatever goes wrong on the way is a refusal: a statement that was not understood is not
run.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from recollect.apps.ask.gate.names import Binder
from recollect.apps.ask.gate.nodes import AllowLists, check_growth, check_nodes, load_allow_lists
from recollect.apps.ask.gate.scopes import Allowed, Scope, VisibleTables
from recollect.apps.ask.sql_text import write_sql
from recollect.errors import InvalidInput, StatementDenied

MOST_CHARS = 20_000
MOST_TOKENS = 4_000
DEEPEST = 40  # open brackets, and CASE inside CASE
ARROW_READS_JSON = {"postgres", "redshift", "sqlite", "mysql"}
FIRST = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}
OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
ODD = re.compile(r"['\"`\\]")
WRITING: Mapping[str, Any] = {"comments": False, "unsupported_level": ErrorLevel.RAISE}

# Its warnings quote the customer's statements; the errors that matter are raised here.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class CheckedSql:
    """A statement that may be run as it is in `sql`; never run the text it was made from."""

    sql: str
    tables: tuple[str, ...]  # names of the catalog, in order of first use
    columns: tuple[str, ...]  # "table.column", likewise
    full_sql: str = ""  # without the row cap; check it again before it is run


def check_sql(sql: str, dialect: str, allowed: Allowed, *, rows: int = 100) -> CheckedSql:
    """Return the statement to run instead of `sql`, which returns at most `rows` rows; or raise StatementDenied,
    whatever sqlglot makes of the text."""
    try:
        reader = Dialect.get_or_raise(dialect)
    except ValueError as error:
        raise InvalidInput("dialect", f"{dialect[:40]!r} is not a dialect of SQL that is known here") from error
    try:
        return _check(sql, reader, load_allow_lists(dialect), allowed, rows)
    except StatementDenied:
        raise
    except RecursionError as error:
        raise StatementDenied("it is nested too deeply; make it simpler") from error
    # sqlglot raises errors of many kinds for hostile text; none of them may become a statement that runs
    except Exception as error:
        raise StatementDenied(f"it cannot be understood ({type(error).__name__}); make it simpler") from error


def _check(sql: str, reader: Dialect, lists: AllowLists, allowed: Allowed, rows: int) -> CheckedSql:
    tree = parse_statement(sql, reader)
    check_nodes(tree, lists)
    check_recursion(tree)
    check_growth(tree)
    binder = Binder(VisibleTables(allowed, lists.dialect), lists, sql)
    binder.bind_query(tree, None, {})
    # Nothing that names data may have escaped the binder, wherever sqlglot put it.
    for node in tree.find_all(exp.Column, exp.Table):
        if id(node) not in binder.bound:
            raise StatementDenied(f"{node.sql()[:60]} stands where no name is expected")
    check_joins(binder.scopes)
    full = write_sql(tree, reader, **WRITING)
    tree = cap_rows(tree, rows)
    text = write_sql(tree, reader, **WRITING)
    # It is read once more: it must be made of allowed parts, and where a text in it has quotes or backslashes it must
    # be the very same tree, so that no string can end early.
    again = parse_statement(text, reader)
    check_nodes(again, lists)
    is_odd = any(ODD.search(node.name) for node in tree.find_all(exp.Literal, exp.JSONPathKey))
    if is_odd and again != tree:
        raise StatementDenied("a quote or a backslash in one of its texts cannot be passed on safely")
    return CheckedSql(text, tuple(binder.tables), tuple(binder.columns), full)


# Text to tree ---------------------------------------------------------------------------------------------------------


def parse_statement(sql: str, dialect: Dialect) -> exp.Expr:
    """Return the tree of the one statement in the text; StatementDenied if there is none or more than one."""
    if len(sql) > MOST_CHARS:
        raise StatementDenied(f"it has {len(sql):,} characters; at most {MOST_CHARS:,} are accepted")
    if control := CONTROL.search(sql):
        raise StatementDenied(f"it has the invisible character U+{ord(control[0]):04X}; take it out")
    try:
        tokens = dialect.tokenize(sql)
    except SqlglotError as error:
        raise StatementDenied(f"it cannot be read as SQL: {str(error)[:120]}") from error
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    _check_tokens(tokens, sql)
    try:
        parser = _make_parser_class(type(dialect))(dialect=dialect, error_level=ErrorLevel.IMMEDIATE)
        trees = parser.parse(tokens, sql)
    except SqlglotError as error:
        raise StatementDenied(_explain_error(error, tokens, sql)) from error
    if len(trees) != 1 or trees[0] is None:
        raise StatementDenied("give exactly one statement")
    return trees[0]


@cache
def _make_parser_class(dialect: type[Dialect]) -> type[Parser]:
    """sqlglot takes `f(data -> 'key')` for a function literal; in these dialects the arrow only ever reads JSON."""
    base: type[Parser] = dialect.parser_class
    if dialect.__name__.lower() not in ARROW_READS_JSON:
        return base
    lambdas = {kind: build for kind, build in base.LAMBDAS.items() if kind is not TokenType.ARROW}
    return type(base.__name__, (base,), {"LAMBDAS": lambdas})


def _check_tokens(tokens: Sequence[Token], sql: str) -> None:
    if not tokens:
        raise StatementDenied("there is no statement; begin with SELECT or WITH")
    if tokens[0].token_type not in FIRST:
        raise StatementDenied(f"it begins with {tokens[0].text[:40].upper()}; only SELECT and WITH are accepted")
    if len(tokens) > MOST_TOKENS:
        raise StatementDenied(f"it has {len(tokens):,} words and signs; at most {MOST_TOKENS:,} are accepted")
    depth = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind in OPENS) - (kind in CLOSES)
        if depth > DEEPEST:
            near = sql[token.start : token.start + 20]
            raise StatementDenied(f"it is nested more than {DEEPEST} levels deep at {near!r}")
        if kind is TokenType.SEMICOLON:
            after = tokens[place + 1].text.upper()  # there is one: semicolons at the end were dropped
            raise StatementDenied(f"it holds more than one statement: after the semicolon comes {after[:40]}")
        if kind in (TokenType.L_BRACE, TokenType.BLOCK_START):
            template = TEMPLATE.match(sql, token.start)
            part = template[0] if template else token.text
            raise StatementDenied(f"the placeholder {part[:60]} has no value; write the value itself")
        if token.comments:
            _check_comments(token.comments)


def _check_comments(comments: Iterable[str]) -> None:
    for comment in comments:
        if comment.startswith(("!", "M!", "+")):
            raise StatementDenied(f"the comment /*{comment[:30]} is an instruction to the database; take it out")


def _explain_error(error: SqlglotError, tokens: Sequence[Token], sql: str) -> str:
    for token in tokens:
        if token.token_type is TokenType.PLACEHOLDER:
            return f"the placeholder {sql[token.start : token.start + 10]} has no value; write the value itself"
    reason = str(error)[:200]
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        reason = f"{first['description']} at {first['highlight']!r}, line {first['line']}, column {first['col']}"
    return f"it cannot be read as SQL: {reason}"


# Tables of a stored statement -----------------------------------------------------------------------------------------


def list_tables(sql: str, dialect: str) -> tuple[str, ...]:
    """Return the tables that a stored statement names, as written, without its CTEs; none if it cannot be parsed."""
    try:
        scopes = traverse_scope(parse_statement(sql, Dialect.get_or_raise(dialect)))
    except (StatementDenied, SqlglotError, RecursionError, ValueError):
        return ()
    sources = [source for scope in scopes for source in scope.sources.values()]
    named = [each for each in sources if isinstance(each, exp.Table) and isinstance(each.this, exp.Identifier)]
    return tuple(dict.fromkeys(".".join(part.name for part in each.parts) for each in named))


# Cost -----------------------------------------------------------------------------------------------------------------


MOST_UNJOINED = 1  # joins of all with all, in the whole statement


def check_joins(scopes: Iterable[Scope]) -> None:
    """Refuse a statement that joins too many sources to all rows of others."""
    unjoined = [name for scope in scopes for name in _find_unjoined(scope)]
    if len(unjoined) > MOST_UNJOINED:
        raise StatementDenied(
            f"{', '.join(unjoined)}: joined to everything without a condition; say with ON or WHERE what belongs"
            " together"
        )


def _find_unjoined(scope: Scope) -> list[str]:
    """Return the first source of each group that no condition ties to the groups before it."""
    if len(scope.sources) < 2 or not scope.select:
        return []
    names = [source.alias.this for source in scope.sources.values()]
    group = dict(zip(names, names, strict=True))
    for tied in _list_ties(scope, scope.select):
        joined = {group[name] for name in tied & group.keys()}
        group = {name: min(joined) if home in joined else home for name, home in group.items()}
    heavy = {group[name]: name for name in reversed(names) if not scope.sources[name.lower()].is_small}
    return list(reversed(heavy.values()))[1:]


def _list_ties(scope: Scope, select: exp.Select) -> Iterator[set[str]]:
    """Yield the names of sources that one condition is about."""
    for condition in _list_conditions(select):
        yield {column.table for column in condition.find_all(exp.Column)}
    for source in scope.sources.values():
        if isinstance(source.item, (exp.Lateral, exp.Unnest, exp.Table)):
            yield {source.alias.this, *(column.table for column in source.item.find_all(exp.Column))}
    for name in scope.merged.values():
        yield {source.alias.this for source in scope.sources.values() if source.find_column(name)}


def _list_conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conditions of WHERE and ON, each side of an AND by itself."""
    clauses = [select.args.get("where")]
    clauses += [join.args.get("on") for join in select.find_all(exp.Join) if join.parent_select is select]
    while clauses:
        each = clauses.pop()
        if isinstance(each, (exp.And, exp.Paren, exp.Where)):
            clauses += each.iter_expressions()
        elif each:
            yield each


def check_recursion(tree: exp.Expr) -> None:
    """Refuse a CTE that reads itself without a WHERE over columns and without joining anything else to it, and one that
    joins a text to itself, which doubles with each round."""
    for cte in tree.find_all(exp.CTE):
        alias = cte.alias.lower()
        for table in cte.this.find_all(exp.Table):
            if table.name.lower() == alias and not table.args.get("db") and not _is_bounded(table.parent_select):
                raise StatementDenied(f"the recursive {cte.alias} has no end; give its recursive part a WHERE")
        if isinstance(cte.this, exp.SetOperation) and _has_doubling(cte.this.expression, alias):
            raise StatementDenied(f"the recursive {cte.alias} joins a text to itself and grows without bound")


def _has_doubling(part: exp.Expr, alias: str) -> bool:
    """Whether the recursive part of a CTE joins a text to itself."""
    if all(table.name.lower() != alias for table in part.find_all(exp.Table)):
        return False
    for node in part.find_all(exp.DPipe, exp.Concat, exp.ConcatWs, exp.Replace, exp.ArrayConcat):
        columns = [column.name.lower() for column in node.find_all(exp.Column)]
        if isinstance(node, exp.Replace) or len(columns) > len(set(columns)):
            return True
    return False


def _is_bounded(select: exp.Expr | None) -> bool:
    if select is None:
        return False
    where = select.args.get("where")
    is_limited = bool(where and where.find(exp.Column))
    return is_limited or any(join.args.get("on") or join.args.get("using") for join in select.args.get("joins") or ())


def cap_rows(tree: exp.Expr, rows: int) -> exp.Expr:
    """Return the same query with at most `rows` rows."""
    while isinstance(tree, exp.Subquery) and {each for each, value in tree.args.items() if value} == {"this"}:
        tree = tree.this
    own = _read_limit(tree.args.get("limit"))
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows if own is None else min(own, rows))))
    return tree


def _read_limit(limit: exp.Expr | None) -> int | None:
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options and (options.args.get("with_ties") or options.args.get("percent")):
            raise StatementDenied("FETCH with TIES or PERCENT is not accepted; use LIMIT and a number")
        return _read_count(limit.args.get("count") or exp.Literal.number(1))
    value = limit.expression if isinstance(limit, exp.Limit) else exp.Null()
    is_endless = isinstance(value, (exp.Null, exp.Neg)) or (isinstance(value, exp.Var) and value.name.upper() == "ALL")
    return None if is_endless else _read_count(value)


def _read_count(value: exp.Expr) -> int:
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isdecimal() and len(value.this) < 19:
        return int(value.this)
    raise StatementDenied(f"LIMIT {value.sql()[:40]}: write it as a number")
