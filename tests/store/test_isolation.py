"""Nobody reads another's memory: by the verbs, whatever is asked in whatever order, and by SQL under our role."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from recollect import Engine, Query, RecollectError, Scope, Upload, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings, read_settings
from recollect.store.connection import format_session_options, make_database
from recollect.store.migrate import prepare
from recollect.values.identity import Grant
from tests.bounds import bound
from tests.copied_database import copied, name_of

WHO = (("alex", "shop"), ("blake", "shop"), ("alex", "bank"))
SESSIONS = ("monday", "tuesday")
# Each user's secret word, and the same word misspelt, as another would have to guess it.
MARKERS = {"alex/shop": "quetzalcoatl", "blake/shop": "rumpelstiltskin", "alex/bank": "nebuchadnezzar"}
GUESSES = ("what is the secret word?", "quetzalcoatel", "rumpelstiltskn", "nebuchadnezar", "密码是什么 earlier")


@dataclass(frozen=True)
class Step:
    verb: str
    who: int
    session: str | None
    guess: str
    reach: str
    pick: int  # which of all requests so far to ask an explanation of


STEPS = st.lists(
    st.builds(
        Step,
        verb=st.sampled_from(
            ["record", "record", "record", "recall", "context", "history", "export", "explain", "settle", "forget"]
        ),
        who=st.integers(0, 2),
        session=st.sampled_from([*SESSIONS, *SESSIONS, None]),
        guess=st.sampled_from(GUESSES),
        reach=st.sampled_from(["auto", "session", "user"]),
        pick=st.integers(0, 50),
    ),
    min_size=4,
    max_size=25,
)


@pytest.fixture
async def shared(settings: Settings) -> Any:
    """One engine for everybody, over a pool so small that its connection goes from hand to hand."""
    small = settings.__class__(dsn=settings.dsn, pool_size=1, max_overflow=1)
    async with connect(small, embedder=FakeEmbedder(), worker=False) as engine:
        yield engine


@given(steps=STEPS)
@settings(
    max_examples=bound(15, 400),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
async def test_whatever_users_do_nobody_is_shown_another_s_words(shared: Engine, steps: list[Step]) -> None:
    run = uuid4().hex
    people = [Scope(user, project=f"{project}-{run}") for user, project in WHO]
    asked: list[Any] = []
    said: dict[tuple[int, str], list[str]] = defaultdict(list)

    for step in steps:
        me = people[step.who]
        scope = Scope(me.user, step.session, me.project)
        shown = repr(await perform(shared, scope, step, asked, said))
        assert not [word for word in others_words(step.who) if word in shown.lower()]

    for who, me in enumerate(people):
        for session in SESSIONS:
            assert await kept(shared, Scope(me.user, session, me.project)) == said[who, session]


def others_words(who: int) -> list[str]:
    own = "/".join(WHO[who])
    return [word for owner, word in MARKERS.items() if owner != own]


async def kept(memory: Engine, scope: Scope) -> list[str]:
    try:
        return [turn.text for turn in await memory.history(scope)]
    except RecollectError:
        return []


async def perform(
    memory: Engine, scope: Scope, step: Step, asked: list[Any], said: dict[tuple[int, str], list[str]]
) -> Any:
    """What the user gets to see: an answer, or the words of an error."""
    query = Query(step.guess, scope=step.reach)  # type: ignore[arg-type]
    try:
        match step.verb:
            case "record":
                text = f"My secret word 密码 is {MARKERS['/'.join(WHO[step.who])]}, number {len(said)}."
                recorded = await memory.record(scope, [("user", text)], idempotency_key=None)
                if step.session:
                    said[step.who, step.session].append(text)
                return recorded
            case "recall" | "context":
                answer = await (memory.recall if step.verb == "recall" else memory.context)(scope, query)
                asked.append(answer.request_id)
                # The question is one's own.
                return repr(answer).replace(repr(query), "")
            case "history":
                return await memory.history(scope)
            case "export":
                return [line async for line in memory.export(scope)]
            case "explain" if asked:
                return await memory.explain(scope, asked[step.pick % len(asked)])
            case "settle":
                await memory.settle(scope)
            case "forget":
                receipt = await memory.forget(scope)
                for session in [step.session] if step.session else SESSIONS:
                    said[step.who, session].clear()
                return receipt
    except RecollectError as error:
        return str(error)
    return None


async def test_users_at_the_same_time_on_the_same_two_connections_are_kept_apart(shared: Engine) -> None:
    async def talk(n: int) -> str:
        me = Scope(f"user{n}", "monday")
        for _ in range(3):
            await shared.record(me, [("user", f"My secret word is marker{n:03}x.")])
        return (await shared.context(me, "what is my secret word?")).text

    texts = await asyncio.gather(*map(talk, range(20)))

    assert [set(re.findall(r"marker\d+x", text)) for text in texts] == [{f"marker{n:03}x"} for n in range(20)]


async def test_the_same_idempotency_key_of_another_user_is_another_key(shared: Engine) -> None:
    first = await shared.record(Scope("alex", "monday"), [("user", "quetzalcoatl")], idempotency_key="k")
    other = await shared.record(Scope("blake", "monday"), [("user", "rumpelstiltskin")], idempotency_key="k")

    assert not other.replayed
    assert first.conversation.id != other.conversation.id


# SQL under the application's role ------------------------------------------------------------------------------------


PEOPLE = {name: Scope(name, "monday") for name in ("alex", "blake")}


async def fill(database: str) -> None:
    """Give two users at least one row in every table that belongs to a user."""
    async with connect(read_settings({}, dsn=database), embedder=FakeEmbedder(), worker=False) as memory:
        for scope in PEOPLE.values():
            said = [("user", f"My name is {scope.user}."), ("assistant", "Hello.")] * 10
            await memory.record(scope, said, idempotency_key="k")  # type: ignore[arg-type]
            await memory.recall(scope, "who am I?")
            await memory.documents.add(scope, Upload("own.txt", f"This is what {scope.user} wrote.".encode()))
            await memory.settle(scope)
            await memory.documents.add(scope, Upload("unread.txt", f"{scope.user} again.".encode()))
    with psycopg.connect(database) as owner:
        for scope in PEOPLE.values():
            # Some belong to a project; for the wall a scope is a scope.
            owner.execute(
                "INSERT INTO recollect.term (scope_id, name, kind, terms, description, synonyms, data, created_at,"
                " updated_at) VALUES (%s, 'orders', 'table', '{order}', '', '{}', '{}', now(), now())",
                [scope.id],
            )
            owner.execute(
                "INSERT INTO recollect.data_source (scope_id, name, dsn, dialect, fingerprint, catalog, model, access,"
                " created_at, updated_at) VALUES (%s, 'shop', 'sqlite://', '', '', '{}', '{}', '{}', now(), now())",
                [scope.id],
            )
            owner.execute("INSERT INTO recollect.shape VALUES (%s, 'x', '{}', now())", [scope.id])


@pytest.fixture(scope="module")
def filled_template(server: str, template: str) -> Iterator[str]:
    with copied(server, template) as database:
        asyncio.run(fill(database))
        yield name_of(database)


@pytest.fixture
def filled() -> dict[str, Scope]:
    """The two users of a filled database."""
    return PEOPLE


@pytest.fixture
def database(request: pytest.FixtureRequest, server: str, template: str) -> Iterator[str]:
    """The owner's DSN of this test's own database; with `filled`, of a copy of a filled one."""
    is_filled = "filled" in request.fixturenames
    with copied(server, request.getfixturevalue("filled_template") if is_filled else template) as dsn:
        yield dsn


@pytest.fixture
def app(database: str, settings: Settings) -> Iterator[psycopg.Connection[Any]]:
    """A session as the engine's pool opens it."""
    with psycopg.connect(make_conninfo(database, options=format_session_options(settings))) as connection:
        yield connection


@pytest.fixture
def login(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A session of somebody who logged in as the application's role, and so can be nobody else."""
    dsn = make_conninfo(database, user="recollect_app", options="-c search_path=recollect,public")
    with psycopg.connect(dsn) as connection:
        yield connection


def scoped_tables(connection: psycopg.Connection[Any]) -> list[str]:
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'scope_id'"
        " WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1"
    )
    return [name for (name,) in rows]


def scopes_seen(connection: psycopg.Connection[Any], table: str) -> set[UUID]:
    return {scope for (scope,) in connection.execute(SQL("SELECT scope_id FROM {}").format(Identifier(table)))}


def scopes_by_table(connection: psycopg.Connection[Any]) -> dict[str, set[UUID]]:
    return {table: scopes_seen(connection, table) for table in scoped_tables(connection)}


def open_scope(connection: psycopg.Connection[Any], scope: Scope) -> None:
    connection.execute("SELECT open_scope(%s)", [scope.id])


def as_one(connection: psycopg.Connection[Any], scope: Scope, statement: Composed, *values: UUID) -> int:
    """A statement in a transaction of the scope; how many rows it touched."""
    with connection.transaction():
        open_scope(connection, scope)
        return connection.execute(statement, values).rowcount


def test_every_table_has_forced_row_level_security_and_a_policy(database: str) -> None:
    with psycopg.connect(database) as owner:
        tables = owner.execute(
            "SELECT relname, relrowsecurity, relforcerowsecurity,"
            " EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid), relkind"
            " FROM pg_class c WHERE relnamespace = 'recollect'::regnamespace AND relkind NOT IN ('i', 'I', 'S', 'c')"
        ).fetchall()

    assert len(tables) >= 9
    assert [table for table in tables if table[1:] != (True, True, True, "r")] == []


def test_every_policy_of_a_user_s_table_compares_the_scope_and_nothing_else(database: str) -> None:
    with psycopg.connect(database, options="-c search_path=recollect,public") as owner:
        policies = owner.execute(
            "SELECT tablename, policyname, cmd, qual, with_check, roles FROM pg_policies WHERE schemaname = 'recollect'"
        ).fetchall()
        tables = scoped_tables(owner)

    rule = "(scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, missing_scope()))"
    others = [policy for policy in policies if policy[0] in tables and policy[2:] != ("ALL", rule, None, ["public"])]
    backups = [policy for policy in others if policy[1] == "backup"]
    assert sorted(policy[0] for policy in backups) == tables
    assert {policy[2:4] for policy in backups} == {
        ("SELECT", "(current_setting('app.backup'::text, true) = 'on'::text)")
    }
    # The owner may find work in every scope; nobody else is exempt from anything.
    assert sorted(policy[:4] for policy in others if policy not in backups) == [
        ("chunk_vector", "owner_counts", "SELECT", "true"),
        ("conversation", "owner_finds_work", "SELECT", "true"),
        ("conversation", "owner_wakes_work", "UPDATE", "true"),
        ("document", "owner_finds_work", "SELECT", "true"),
        ("embedding", "owner_counts", "SELECT", "true"),
        ("episode", "owner_counts", "SELECT", "true"),
        ("holder", "owner_finds_idle", "SELECT", "true"),
        ("idempotency", "owner_finds_old", "SELECT", "true"),
        ("memory", "owner_finds_idle", "SELECT", "true"),
        ("request", "owner_finds_old", "SELECT", "true"),
        ("tally", "owner_counts", "SELECT", "true"),
        ("turn", "owner_counts", "SELECT", "true"),
    ]
    assert {policy[5][0] for policy in others} == {"postgres"}


def test_without_a_scope_there_are_no_rows(app: psycopg.Connection[Any], filled: dict[str, Scope]) -> None:
    assert scopes_by_table(app) == {table: set() for table in scoped_tables(app)}

    app.execute("SET LOCAL app.scope = ''")
    assert scopes_by_table(app) == {table: set() for table in scoped_tables(app)}


def test_with_a_scope_there_are_its_rows_and_no_others(app: psycopg.Connection[Any], filled: dict[str, Scope]) -> None:
    for scope in filled.values():
        with app.transaction():
            open_scope(app, scope)
            assert scopes_by_table(app) == {table: {scope.id} for table in scoped_tables(app)}


def test_the_next_transaction_of_a_connection_knows_nothing_of_the_last_one_s_scope(
    app: psycopg.Connection[Any], filled: dict[str, Scope]
) -> None:
    with app.transaction():
        open_scope(app, filled["alex"])
        assert scopes_seen(app, "turn") == {filled["alex"].id}
    app.rollback()

    assert scopes_seen(app, "turn") == set()
    assert app.execute("SELECT current_setting('app.scope', true)").fetchone() in [(None,), ("",)]


async def test_a_pooled_connection_carries_no_scope_into_the_next_request(
    shared: Engine, filled: dict[str, Scope]
) -> None:
    await shared.record(filled["alex"], [("user", "hello")])
    await shared.recall(filled["alex"], "hello")

    pool = shared._deps.store._database._pool
    seen = []
    for _ in range(3):
        async with pool.connection() as connection:
            cursor = await connection.execute("SELECT count(*), current_setting('app.scope', true) FROM turn")
            seen.append(await cursor.fetchone())
    assert [row for row in seen if row not in [(0, None), (0, "")]] == []


def test_no_row_can_be_written_into_another_s_scope(app: psycopg.Connection[Any], filled: dict[str, Scope]) -> None:
    alex, blake = filled["alex"], filled["blake"]
    for table in scoped_tables(app):
        found = app.execute(
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'scope_id'",
            [table],
        )
        columns = SQL(", ").join(Identifier(name) for (name,) in found)
        copy = SQL("INSERT INTO {table} (scope_id, {columns}) SELECT %s, {columns} FROM {table}").format(
            table=Identifier(table), columns=columns
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            as_one(app, alex, copy, blake.id)


def test_no_row_can_be_moved_to_another_s_scope_or_touched_there(
    app: psycopg.Connection[Any], filled: dict[str, Scope]
) -> None:
    alex, blake = filled["alex"], filled["blake"]
    for table in scoped_tables(app):
        delete = SQL("DELETE FROM {} WHERE scope_id = %s").format(Identifier(table))
        if table != "audit":  # from which nobody may delete
            assert as_one(app, alex, delete, blake.id) == 0
        # Refused by the policy or, where we may not update at all, by the grant.
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_one(app, alex, SQL("UPDATE {} SET scope_id = %s").format(Identifier(table)), blake.id)


@pytest.mark.parametrize("table", ["turn", "embedding", "request", "audit"])
def test_the_log_cannot_be_changed_even_by_the_one_it_belongs_to(
    app: psycopg.Connection[Any], filled: dict[str, Scope], table: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"permission denied for table {table}"):
        as_one(app, filled["alex"], SQL("UPDATE {} SET scope_id = scope_id").format(Identifier(table)))


ATTEMPTS = (
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "ALTER ROLE recollect_app BYPASSRLS",
    "ALTER ROLE recollect_app SUPERUSER",
    "ALTER TABLE turn DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE turn NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE turn OWNER TO recollect_app",
    "DROP POLICY scope ON turn",
    "CREATE POLICY mine ON turn USING (true)",
    "CREATE TABLE recollect.loot (a int)",
    "CREATE FUNCTION recollect.open_scope(text) RETURNS void LANGUAGE sql AS 'SELECT'",
    "CREATE OR REPLACE FUNCTION find_work(current_model smallint, most int)"
    " RETURNS TABLE (scope_id uuid, conversation_id uuid) LANGUAGE sql AS 'SELECT scope_id, id FROM conversation'",
    "TRUNCATE turn",
    "UPDATE schema_migration SET version = 99",
    "DELETE FROM embedding_model",
    "COPY turn TO PROGRAM 'cat'",
)


def test_our_role_cannot_take_the_wall_down(login: psycopg.Connection[Any], filled: dict[str, Scope]) -> None:
    allowed = []
    for attempt in ATTEMPTS:
        try:
            with login.transaction():
                login.execute(attempt.encode())
            allowed.append(attempt)
        except psycopg.errors.InsufficientPrivilege:
            pass

    assert allowed == []
    assert scopes_by_table(login) == {table: set() for table in scoped_tables(login)}


def test_our_role_gets_an_error_rather_than_rows_when_it_switches_row_security_off(
    login: psycopg.Connection[Any], filled: dict[str, Scope]
) -> None:
    login.execute("SET row_security = off")

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        login.execute("SELECT * FROM turn")


def test_a_worker_finds_work_of_all_scopes_as_ids_and_cannot_read_them(
    login: psycopg.Connection[Any], filled: dict[str, Scope]
) -> None:
    login.execute("SET ROLE recollect_operator")
    cursor = login.execute("SELECT * FROM find_work(99::smallint, 10)")

    assert {row[0] for row in cursor} == {scope.id for scope in filled.values()}
    assert [column.name for column in cursor.description or ()] == ["scope_id", "conversation_id"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for"):
        login.execute("SELECT FROM conversation")


async def test_a_member_of_our_role_can_do_the_worker_s_and_the_operator_s_part(
    database: str, filled: dict[str, Scope]
) -> None:
    """As behind a pooler: a login of one's own, nothing set per session."""
    name = f"member_{uuid4().hex[:12]}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN IN ROLE recollect_app".encode())
        owner.execute(f"ALTER ROLE {name} SET search_path = recollect, public".encode())
        try:
            given = read_settings({}, dsn=make_conninfo(database, user=name), admin_dsn=database, pooled=True)
            async with connect(given, embedder=FakeEmbedder(), worker=False) as memory:
                await memory.keys.create(Grant(role="admin", name="first"))
                assert [key.name for key in await memory.keys.find()] == ["first"]
                assert {stored.user for stored in (await memory.report("default")).storage} == {"alex", "blake"}
                # The next request on the connection is the application's again.
                assert [turn.role for turn in await memory.history(filled["alex"], limit=1)] == ["assistant"]
        finally:
            owner.execute(f"DROP ROLE {name}".encode())


OVER_ALL_SCOPES = (
    "SELECT * FROM find_work(99::smallint, 10)",
    "SELECT * FROM find_documents(99::smallint, 10)",
    "SELECT * FROM find_expired(now(), gen_random_uuid(), 10)",
    "SELECT * FROM find_old_requests(now(), gen_random_uuid(), 10)",
    "SELECT * FROM find_old_keys(now(), gen_random_uuid(), 10)",
    "SELECT * FROM find_upkeep(now(), now(), now(), 0, now(), 0, 0, gen_random_uuid(), 10)",
    "SELECT * FROM work_troubles(10)",
    "SELECT * FROM stats_by_user('default', gen_random_uuid(), 10)",
    "SELECT * FROM storage_by_user('default', gen_random_uuid(), 10)",
    "SELECT wake_parked('')",
    "SELECT * FROM list_keys(NULL)",
    "SELECT * FROM revoke_key(gen_random_uuid(), NULL, now(), 'x')",
    "SELECT add_key(gen_random_uuid(), 'x', 'p', 'n', 'admin', NULL, NULL, now(), 'x', NULL)",
    "SELECT add_key_under(gen_random_uuid(), 'x', 'p', gen_random_uuid(), now(), now())",
)


@pytest.mark.parametrize("call", OVER_ALL_SCOPES)
def test_our_role_cannot_run_what_looks_over_all_scopes(
    login: psycopg.Connection[Any], filled: dict[str, Scope], call: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for function"):
        login.execute(call.encode())


def test_every_function_that_returns_scopes_or_users_is_the_operator_s(database: str) -> None:
    with psycopg.connect(database) as owner:
        names = owner.execute(
            "SELECT DISTINCT p.proname FROM pg_proc p"
            " LEFT JOIN pg_type t ON t.oid = p.prorettype LEFT JOIN pg_attribute a ON a.attrelid = t.typrelid"
            " WHERE p.pronamespace = 'recollect'::regnamespace AND p.proname <> 'find_key'"
            " AND (p.proargnames && '{scope_id,user_id}' OR a.attname IN ('scope_id', 'user_id'))"
            " AND has_function_privilege('recollect_app', p.oid, 'EXECUTE')"
        ).fetchall()

    assert names == []


async def test_our_role_can_make_no_temporary_tables_and_no_large_objects(server: str) -> None:
    dsn = await make_database(server, f"limits_{uuid4().hex}")
    await prepare(dsn)
    with psycopg.connect(make_conninfo(dsn, user="recollect_app"), autocommit=True) as app:
        for attempt in ("CREATE TEMPORARY TABLE loot (a int)", "SELECT lo_create(0)", "SELECT lo_from_bytea(0, 'x')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(attempt.encode())


async def test_a_shared_database_keeps_its_temporary_tables(server: str) -> None:
    dsn = await make_database(server, f"shared_{uuid4().hex}")
    with psycopg.connect(dsn) as owner:
        owner.execute("CREATE TABLE public.orders (id int)")
    await prepare(dsn)
    with psycopg.connect(make_conninfo(dsn, user="recollect_app")) as app:
        app.execute("CREATE TEMPORARY TABLE theirs (a int)")


def test_our_role_owns_nothing_and_bypasses_nothing(login: psycopg.Connection[Any]) -> None:
    attributes = login.execute(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication,"
        " EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid AND (m.inherit_option OR m.admin_option"
        "         OR m.roleid <> 'recollect_operator'::regrole)),"
        " EXISTS (SELECT FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o')"
        " FROM pg_roles r WHERE rolname = current_user"
    ).fetchone()

    assert attributes == (False,) * 7
