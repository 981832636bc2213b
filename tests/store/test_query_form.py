"""The form of every statement on users' rows: one text that a single server runs, and that Citus can send to one shard.

Citus prunes by literal equality: a scope that comes through a join, a subquery or a setting fans out over all shards.
An INSERT ... SELECT is sent to a shard only if it selects the distribution column of a table in its FROM; otherwise its
rows go through the coordinator by COPY, which row-level security forbids.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlglot import exp, parse_one

from recollect import Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.store.database import Database, queries
from tests.store.test_queries import SCOPED

# It reads catalogs, quotes the rules of the policies, and uses syntax that the parser does not know.
NOT_PARSED = ("access.differences",)
BODIES = "SELECT prosrc FROM pg_proc WHERE pronamespace = 'recollect'::regnamespace AND proname = 'append_turns'"
OVER_ALL_SCOPES = """
    SELECT p.proname, p.prosrc FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = 'recollect'::regnamespace AND l.lanname = 'sql' AND p.prosecdef
"""


def parsed(text: str) -> exp.Expr:
    """A statement as a tree; each parameter is a placeholder, and pgvector's operator one that the parser knows."""
    return parse_one(
        re.sub(r"%\((\w+)\)s", r":p_\1", text).replace("%%", "%").replace("<#>", "<->"), dialect="postgres"
    )


STATEMENTS = {name: parsed(sql.decode()) for name, sql in queries().items() if name not in NOT_PARSED}
ON_ROWS = [name for name, tree in STATEMENTS.items() if any(t.name in SCOPED for t in tree.find_all(exp.Table))]


def is_scope(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Placeholder) and node.name == "p_scope"


def conditions(query: exp.Expr) -> Iterator[exp.Expr]:
    """What must all be true of the rows of a query: the parts of its WHERE and of its joins, split at AND."""
    joins = query.args.get("joins") or []
    for source in (query.args.get("from_"), query.args.get("using")):
        for table in [source.this] if isinstance(source, exp.From) else source or []:
            joins = [*joins, *(table.args.get("joins") or [])]
    where = query.args.get("where")
    for whole in [where.this if where else None, *(join.args.get("on") for join in joins)]:
        if whole is not None:
            yield from whole.flatten() if isinstance(whole, exp.And) else [whole]


def names_scope(query: exp.Expr, table: exp.Table) -> bool:
    """Whether the query asks for one scope of this table, in so many words."""
    for each in conditions(query):
        column, value = (each.this, each.args.get("expression")) if isinstance(each, exp.EQ) else (None, None)
        if not isinstance(column, exp.Column) or column.name != "scope_id" or not is_scope(value):
            continue
        if column.table == (table.alias or ("" if not column.table else table.name)):
            return True
    return False


def read_tables(tree: exp.Expr) -> list[tuple[exp.Expr, exp.Table]]:
    """The references to users' tables, each with the query that it is part of; without targets of INSERT."""
    found: list[tuple[exp.Expr, exp.Table]] = []
    for table in tree.find_all(exp.Table):
        insert = table.find_ancestor(exp.Insert)
        is_target = insert is not None and table in list(insert.this.find_all(exp.Table))
        if table.name in SCOPED and not is_target:
            query = table.find_ancestor(exp.Select, exp.Update, exp.Delete)
            assert query is not None
            found.append((query, table))
    return found


@pytest.mark.parametrize("name", ON_ROWS)
def test_every_table_of_a_user_is_asked_for_one_scope(name: str) -> None:
    assert [table.sql() for query, table in read_tables(STATEMENTS[name]) if not names_scope(query, table)] == []


def check_insert(insert: exp.Insert) -> None:
    """It writes VALUES of the scope, or selects the scope of a row that it reads from the same shard."""
    schema, source = insert.this, insert.expression
    assert isinstance(schema, exp.Schema)
    assert schema.expressions[0].name == "scope_id", "the scope comes first"
    if isinstance(source, exp.Values):
        assert all(is_scope(row.expressions[0]) for row in source.expressions)
        return
    assert type(source) is exp.Select, "no set operation"
    first = source.expressions[0]
    assert isinstance(first, exp.Column)
    assert first.name == "scope_id", "it selects the scope of a row"
    lead = [table for query, table in read_tables(source) if query is source and table.alias == first.table]
    assert [names_scope(source, table) for table in lead] == [True], "the row is of a user's table, in this scope"
    assert not any(source.args.get(part) for part in ("limit", "offset", "distinct", "with_"))
    assert not any(join.side for join in source.args.get("joins") or []), "an outer join leads to no shard"
    if group := source.args.get("group"):
        assert first in group.expressions, "groups are within the scope"


@pytest.mark.parametrize("name", [name for name in ON_ROWS if STATEMENTS[name].find(exp.Insert)])
def test_every_insert_goes_to_one_shard(name: str) -> None:
    tree = STATEMENTS[name]

    assert isinstance(tree, exp.Insert), "an INSERT within a CTE is not sent to a shard"
    check_insert(tree)


def test_the_appending_function_inserts_in_the_same_form(database: str) -> None:
    with psycopg.connect(database) as owner:
        [(body,)] = owner.execute(BODIES).fetchall()
    inserts = [
        parsed(text.replace("of_scope", "%(scope)s"))
        for text in re.findall(r"INSERT INTO .*?(?=\n    RETURNING|;)", body, re.S)
    ]

    assert all(f"recollect.{table}" in body for table in ("conversation", "turn", "sketch", "embedding"))
    assert re.search(r"(INTO|FROM|JOIN|PERFORM) (?!recollect\.|json_to_recordset)\w+[ (]", body) is None
    assert [insert.find(exp.Table).name for insert in inserts] == ["conversation", "turn", "sketch", "embedding"]  # type: ignore[union-attr]
    for insert in inserts:
        assert isinstance(insert, exp.Insert)
        check_insert(insert)
        assert [table.sql() for query, table in read_tables(insert) if not names_scope(query, table)] == []


def test_no_statement_merges_and_no_table_has_a_trigger(database: str) -> None:
    with psycopg.connect(database) as owner:
        triggers = owner.execute(
            "SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " WHERE c.relnamespace = 'recollect'::regnamespace AND NOT t.tgisinternal"
        ).fetchall()

    assert triggers == []
    assert [name for name, tree in STATEMENTS.items() if tree.find(exp.Merge)] == []


def test_no_update_calls_a_volatile_function(database: str) -> None:
    """Each node would compute its own value. Values are passed; now() is the transaction's."""
    volatile = find_functions(database, "v")
    called = {
        name: {name_call(call) for call in change.find_all(exp.Func)} & volatile
        for name, tree in STATEMENTS.items()
        for change in tree.find_all(exp.Update, exp.Delete)
    }

    assert len(called) > 50
    assert {name: calls for name, calls in called.items() if calls} == {}


def find_functions(database: str, *volatility: str) -> set[str]:
    """The names of functions that exist with this volatility only."""
    with psycopg.connect(database) as owner:
        found = owner.execute(
            "SELECT proname FROM pg_proc GROUP BY 1 HAVING every(provolatile = ANY(%s))", [[*volatility]]
        )
        return {name for (name,) in found}


def name_call(call: exp.Func) -> str:
    """The function's name, as PostgreSQL has it."""
    return call.sql(dialect="postgres").split("(")[0].lower()


def test_no_change_computes_a_value_of_the_session_from_a_row(database: str) -> None:
    """Citus computes what depends on the session or the time itself, once, and so takes no column, no CASE and no
    COALESCE around it; RETURNING and ON CONFLICT take nothing of the kind."""
    mutable = find_functions(database, "s", "v")
    wrong = []
    for name, tree in STATEMENTS.items():
        for change in tree.find_all(exp.Update, exp.Delete, exp.Insert):
            parts = [change.args.get("returning"), change.args.get("conflict")]
            calls = [call for part in parts if part for call in part.find_all(exp.Func) if name_call(call) in mutable]
            if not isinstance(change, exp.Insert):
                parts = [*change.expressions, change.args.get("where")]
                found = [call for part in parts if part for call in part.find_all(exp.Func)]
                calls += [
                    call
                    for call in found
                    if name_call(call) in mutable
                    and (call.find(exp.Column) or call.find_ancestor(exp.Case, exp.Coalesce))
                ]
            wrong += [f"{name}: {call.sql()}" for call in calls]

    assert "to_jsonb" in mutable
    assert wrong == []


def test_no_function_over_tables_is_put_into_its_caller_s_statement(database: str) -> None:
    """Citus cannot plan the tables of an inlined SQL function; a function that runs as its owner is never inlined."""
    with psycopg.connect(database) as owner:
        inlined = owner.execute(
            "SELECT p.proname FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang"
            " WHERE p.pronamespace = 'recollect'::regnamespace AND l.lanname = 'sql' AND NOT p.prosecdef"
        ).fetchall()

    assert inlined == []


def test_functions_over_all_scopes_read_each_table_where_nodes_can_do_it_alone(database: str) -> None:
    """A scalar subquery, EXISTS, ARRAY or LATERAL on a distributed table cannot be planned over all shards: such tables
    are read in a FROM of the query or of a CTE, and combined afterwards."""
    with psycopg.connect(database) as owner:
        bodies: dict[str, str] = dict(owner.execute(OVER_ALL_SCOPES).fetchall())
    trees = {name: parsed(body) for name, body in bodies.items() if name not in ("add_key", "add_key_under")}
    read = {name: [t for t in tree.find_all(exp.Table) if t.name in SCOPED] for name, tree in trees.items()}
    hidden = {
        name: [table.sql() for table in tables if is_within_an_expression(table)] for name, tables in read.items()
    }

    assert len([name for name, tables in read.items() if tables]) > 15
    assert {name: tables for name, tables in hidden.items() if tables} == {}


def is_within_an_expression(table: exp.Table) -> bool:
    """Whether the table is read by a subquery that is a value or depends on another row."""
    node: exp.Expr = table
    while (parent := node.parent) is not None:
        if isinstance(parent, exp.Lateral | exp.Exists | exp.In | exp.Array):
            return True
        if isinstance(parent, exp.Subquery) and not isinstance(parent.parent, exp.From | exp.Join | exp.SetOperation):
            return True
        node = parent
    return False


async def sent(database: Database, work: str, scope: Scope) -> str:
    """What goes to the server when the database does some work, as libpq traces it."""
    async with database._pool.connection() as connection:
        file, path = tempfile.mkstemp()
        connection.pgconn.trace(file)
    match work:
        case "a pipeline":
            await database.run(scope.id, ("conversation.all", {}))
        case "one statement":
            await database.write_one(scope.id, "conversation.all", {})
        case "an operator's":
            await database.ask_as_operator("work.wake", stage="")
        case "a transaction":
            async with database.transaction(scope.id) as transaction:
                await transaction.rows("conversation.all")
    async with database._pool.connection() as connection:
        connection.pgconn.untrace()
    os.close(file)
    return await asyncio.to_thread(Path(path).read_text)


@pytest.mark.parametrize("work", ["a pipeline", "one statement", "an operator's", "a transaction"])
async def test_a_cluster_is_told_where_each_transaction_begins(settings: Settings, alex: Scope, work: str) -> None:
    """Citus passes SET LOCAL on to its nodes only inside an explicit transaction."""
    one = replace(settings, pool_size=1, max_overflow=0)
    async with connect(one, embedder=FakeEmbedder(), worker=False) as memory:
        database = memory._deps.store._database
        database._is_lone_enough = False  # as it is on a cluster
        trace = await sent(database, work, alex)

    said = re.findall(r'B\t\d+\tCommandComplete\t "([A-Z]+)', trace)
    assert said[0] == "BEGIN", trace
    assert said[-1] == "COMMIT", trace
    assert len(said) > 2
