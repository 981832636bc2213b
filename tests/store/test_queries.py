"""Every named query: it fits the schema and is used; and there is no SQL elsewhere. Its form: test_query_form.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import recollect
from recollect.settings import Settings
from recollect.store.connection import format_session_options
from recollect.store.database import NOUNS, queries
from recollect.store.documents import DOCUMENT_TABLES
from recollect.store.erasure import CONVERSATION_TABLES, STEPS, USER_TABLES
from recollect.store.upkeep import Old

PACKAGE = Path(recollect.__file__).parent
SCOPED = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "idempotency", "request"),
    *("holder", "evidence", "memory", "tally", "episode", "term", "audit", "data_source", "shape"),
    *("document", "document_part", "chunk", "posting", "chunk_vector"),
)


def text(name: str) -> str:
    """A query without its comments."""
    return re.sub(r"--.*", "", queries()[name].decode())


@pytest.fixture
def app(database: str, settings: Settings) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(make_conninfo(database, options=format_session_options(settings))) as connection:
        yield connection


def numbered(statement: str) -> str:
    """With PostgreSQL's $1 for the driver's %(name)s."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    return re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement).replace("%%", "%")


def test_every_query_fits_the_schema_under_our_role(app: psycopg.Connection[Any]) -> None:
    # BEGIN and COMMIT are no queries to prepare, and the catalogs of Citus are not here.
    for name in queries().keys() - {"server.begin", "server.commit", "distribute.placed"}:
        app.execute(f'PREPARE "{name}" AS {numbered(text(name))}'.encode())

    assert len(queries()) > 40


def test_no_query_names_a_scope_in_another_way() -> None:
    # access.differences quotes the rule of the policies.
    asking = [name for name in queries() if name != "access.differences"]
    spoken = {name: re.findall(r"scope_id\s*(?:=|IN|<|>|IS)\s*(\S+)", text(name)) for name in asking}

    assert {word.rstrip("),") for words in spoken.values() for word in words} == {"%(scope)s"}


def test_every_query_is_used() -> None:
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    made = {f"{noun}.delete_one" for noun in CONVERSATION_TABLES} | {f"{noun}.delete_all" for noun in USER_TABLES}
    made |= {f"{noun}.delete_document" for noun in DOCUMENT_TABLES}
    made |= {f"redaction.{step}" for steps in STEPS.values() for step in steps}
    made |= {f"upkeep.{step}_{what}" for step in ("find_old", "drop") for what in get_args(Old)}
    made |= {f"{noun}.{query}" for noun in ("sketch", "embedding") for query in ("score", "score_within")}

    assert [name for name in queries() if name not in made and f'"{name}"' not in source] == []
    assert [name for name in made if name not in queries()] == []


def test_every_query_file_is_read() -> None:
    assert sorted(path.stem for path in (PACKAGE / "store").glob("*.sql") if path.stem != "schema") == sorted(NOUNS)


SQL = re.compile(
    r"^\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH \w+ AS|TRUNCATE|COPY \w+|GRANT \w+ ON|SET LOCAL"
    r"|(CREATE|ALTER|DROP) (TEMPORARY |UNIQUE |OR REPLACE )*(TABLE|INDEX|FUNCTION|POLICY|SCHEMA|DATABASE|EXTENSION)"
    r")\b(?! \.\.\.)"
)
# The bench compares us with bare SQL, in the demo's story somebody asks for SQL, and other databases are asked in it.
# Examples of what callers send.
EXAMPLES = ("server/http/answer_question.py", "server/http/data_sources.py", "server/http/text2sql.py")
ELSEWHERE = ("store/", "apps/ask/", *EXAMPLES)


def test_there_is_no_sql_outside_the_store() -> None:
    found = []
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith(ELSEWHERE):
            continue
        found += [f"{place}:{node.lineno}: {node.value[:60]}" for node in strings(path) if SQL.search(node.value)]

    assert found == []


def strings(path: Path) -> list[Any]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


WRITES = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM|TRUNCATE)\b(?<!FOR UPDATE)(?<!NO KEY UPDATE)")
STORE = [ast.parse(path.read_text()) for path in (PACKAGE / "store").glob("*.py")]
BUILDERS = {node.name: node for module in STORE for node in module.body if isinstance(node, ast.FunctionDef)}


def find_named_queries(node: ast.AST) -> set[str]:
    """The queries that code names, also in the functions of the store that it calls to build statements."""
    names = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value in queries()}
    called = {each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    return names.union(*(find_named_queries(BUILDERS[name]) for name in called & BUILDERS.keys()))


def sends_a_read(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    sends = ast.unparse(node.func)
    is_write = any(word.arg == "write" for word in node.keywords)
    return sends == "self._database.read" or (sends == "self._database.run" and not is_write)


def test_a_transaction_that_is_sent_again_writes_nothing() -> None:
    """`run` repeats a read after a lost answer, so a statement that writes must be sent with `write`."""
    methods = [node for module in STORE for node in ast.walk(module) if isinstance(node, ast.AsyncFunctionDef)]
    reads = {method.name: find_named_queries(method) for method in methods if any(map(sends_a_read, ast.walk(method)))}

    assert len(reads) > 30
    assert {name for names in reads.values() for name in names if WRITES.search(text(name))} == set()
