"""Text to tree: what can be refused before anything is understood, and the parse itself.

Called by gate_checks. Whatever sqlglot says about a text it cannot read becomes a sentence for the person.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from recollect.errors import StatementDenied

MOST_CHARS = 20_000
MOST_TOKENS = 4_000
DEEPEST = 40  # open brackets, and CASE inside CASE
ARROW_READS_JSON = {"postgres", "redshift", "sqlite", "mysql"}
FIRST = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}
OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)

# Its warnings quote the customer's statements; what matters in them comes back as an error here.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def tree_of(sql: str, dialect: Dialect) -> exp.Expr:
    """The one statement in the text, as sqlglot reads it; StatementDenied if there is none or more than one."""
    check_text(sql)
    tokens = tokens_of(sql, dialect)
    check_tokens(tokens, sql)
    try:
        trees = parser_class(type(dialect))(dialect=dialect, error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)
    except SqlglotError as error:
        raise StatementDenied(unread(error, tokens, sql)) from error
    if len(trees) != 1 or trees[0] is None:
        raise StatementDenied("give exactly one statement")
    return trees[0]


@cache
def parser_class(dialect: type[Dialect]) -> type[Parser]:
    """sqlglot takes `f(data -> 'key')` for a function literal; in these dialects the arrow only ever reads JSON."""
    base: type[Parser] = dialect.parser_class
    if dialect.__name__.lower() not in ARROW_READS_JSON:
        return base
    lambdas = {kind: build for kind, build in base.LAMBDAS.items() if kind is not TokenType.ARROW}
    return type(base.__name__, (base,), {"LAMBDAS": lambdas})


def check_text(sql: str) -> None:
    if len(sql) > MOST_CHARS:
        raise StatementDenied(f"it has {len(sql):,} characters; at most {MOST_CHARS:,} are accepted")
    if control := CONTROL.search(sql):
        raise StatementDenied(f"it has the invisible character U+{ord(control[0]):04X}; take it out")


def tokens_of(sql: str, dialect: Dialect) -> list[Token]:
    """The tokens without the semicolons at the end."""
    try:
        tokens = dialect.tokenize(sql)
    except SqlglotError as error:
        raise StatementDenied(f"it cannot be read as SQL: {str(error)[:120]}") from error
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def check_tokens(tokens: Sequence[Token], sql: str) -> None:
    if not tokens:
        raise StatementDenied("there is no statement; begin with SELECT or WITH")
    if tokens[0].token_type not in FIRST:
        raise StatementDenied(f"it begins with {tokens[0].text[:40].upper()}; only SELECT and WITH are accepted")
    if len(tokens) > MOST_TOKENS:
        raise StatementDenied(f"it has {len(tokens):,} words and signs; at most {MOST_TOKENS:,} are accepted")
    depth = 0
    for at, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind in OPENS) - (kind in CLOSES)
        if depth > DEEPEST:
            raise StatementDenied(
                f"it is nested more than {DEEPEST} levels deep at {sql[token.start : token.start + 20]!r}"
            )
        check_token(token, tokens[at + 1] if at + 1 < len(tokens) else None, sql)


def check_token(token: Token, following: Token | None, sql: str) -> None:
    if token.token_type is TokenType.SEMICOLON:
        after = following.text.upper() if following else "nothing"
        raise StatementDenied(f"it holds more than one statement: after the semicolon comes {after[:40]}")
    if token.token_type in (TokenType.L_BRACE, TokenType.BLOCK_START):
        template = TEMPLATE.match(sql, token.start)
        part = template[0] if template else token.text
        raise StatementDenied(f"the placeholder {part[:60]} has no value; write the value itself")
    for comment in token.comments:
        if comment.startswith(("!", "M!", "+")):
            raise StatementDenied(f"the comment /*{comment[:30]} is an instruction to the database; take it out")


def unread(error: SqlglotError, tokens: Sequence[Token], sql: str) -> str:
    for token in tokens:
        if token.token_type is TokenType.PLACEHOLDER:
            return f"the placeholder {sql[token.start : token.start + 10]} has no value; write the value itself"
    return f"it cannot be read as SQL: {where_it_stopped(error)}"


def where_it_stopped(error: SqlglotError) -> str:
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        return f"{first['description']} at {first['highlight']!r}, line {first['line']}, column {first['col']}"
    return str(error)[:200]
