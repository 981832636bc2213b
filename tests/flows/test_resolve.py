"""Resolve and the ontology on a real database: who is asked first, what is kept apart, and what an import leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Engine, InvalidInput, NotFound, Scope
from recollect.flows.dependencies import Dependencies
from recollect.flows.ontology import drop_term, import_ontology, list_terms, put_term, resolve
from recollect.learning.reconcile import reconcile
from recollect.providers.fake import FakeClock
from recollect.settings import Settings
from recollect.store.connection import format_session_options
from recollect.store.database import Database
from recollect.store.memories import Holder, Learned
from recollect.values.memory import Evidence, MemoryKind
from recollect.values.resolution import Resolution
from recollect.values.scope import ScopeId, uuid7
from recollect.values.term import ImportReport, Term
from tests.citus_database import has_no_rows

ALEX = Scope("alex", "monday", "shop")
BLAKE = Scope("blake", "monday", "shop")
ELSEWHERE = Scope("alex", "monday", "bank")
SHOP = """
tables:
  customers: {description: One row per account., synonyms: [clients, 客户], columns: {id: , name: {synonyms: [title]}}}
  orders:
    synonyms: [purchases]
    columns:
      id:
      total: {description: With tax., sql: round(orders.total, 2)}
      status: {values: {paid: The money is here., open: Not paid yet.}}
  invoices: {columns: [id, total]}
relationships: [{from: orders.customer_id, to: customers.id}]
glossary:
  active customer: {definition: ordered within 90 days, defining_sql: seen > now() - interval '90 days'}
  活跃客户: 九十天内下过单的客户
"""


@pytest.fixture
def deps(memory: Engine) -> Dependencies:
    return memory._deps


@pytest.fixture
async def shop(deps: Dependencies) -> Dependencies:
    await import_ontology(deps, ALEX, SHOP)
    return deps


async def learn(
    deps: Dependencies,
    scope: Scope,
    key: str,
    value: str,
    *,
    confidence: float = 0.9,
    kind: MemoryKind = "definition",
    data: dict[str, Any] | None = None,
    for_project: bool = False,
) -> None:
    """What a person said about a term, as learning keeps it."""
    holder = (
        Holder(scope.project_id, scope.project, None) if for_project else Holder(scope.id, scope.project, scope.user)
    )
    known = await deps.store.memories.load_keys(holder.id, [key])
    said = Evidence(
        id=uuid7(),
        act="says",
        kind=kind,
        key=key,
        value=value,
        confidence=confidence,
        importance=0.5,
        source="clarification",
        learned_by="person",
        said_at=FakeClock().now() + timedelta(minutes=len(known.evidence)),
        data=data,
        session="friday",
        turn=3,
    )
    changes = reconcile(known.memories, [*known.evidence, said])
    await deps.store.memories.write(holder, known.version, Learned(changes, [said]), FakeClock().now())


async def one(deps: Dependencies, term: str, scope: Scope = ALEX, **definitions: str) -> Resolution:
    [found] = await resolve(deps, scope, [term], definitions)
    return found


async def names(deps: Dependencies, search: str | None = None, **options: Any) -> list[str]:
    return [term.name for term in await list_terms(deps, ALEX, search, **options)]


async def trail(deps: Dependencies, scope: Scope = ALEX) -> list[tuple[str, str, str, Any]]:
    rows = await deps.store.memories.list_audit(scope.project_id)
    return [(row.actor, row.action, row.subject, row.detail) for row in rows]


async def test_the_session_is_asked_before_the_user_the_project_and_the_ontology(shop: Dependencies) -> None:
    term = "active customers"
    found = [await one(shop, term)]
    await learn(shop, ALEX, "active customer", "ordered this year", for_project=True, confidence=0.6)
    found.append(await one(shop, term))
    await learn(shop, ALEX, "active customer", "logged in this week", confidence=0.75, data={"sql_hint": "login > 7"})
    found.append(await one(shop, term))
    [own] = await resolve(shop, ALEX, [term], {"Active Customer": "paid today"})

    assert [(said.tier, said.meaning, said.confidence, said.sql) for said in [*found, own]] == [
        ("ontology", "ordered within 90 days", 0.8, "seen > now() - interval '90 days'"),
        ("project", "ordered this year", 0.9, None),
        ("user", "logged in this week", 0.75, "login > 7"),
        ("session", "paid today", 1.0, None),
    ]
    assert [said.tier for said in own.candidates] == ["user", "project", "ontology"]
    assert own.why == "defined in this session; other meanings: user, project, ontology"
    assert found[0].source == "glossary:active customer"
    assert (found[2].refs, found[2].source) == (("friday#3",), f"memory:{found[2].memory}")
    assert found[2].why.startswith("the user's own meaning (friday#3), confidence 0.75")


async def test_a_user_memory_that_has_faded_gives_way_to_whoever_knows_and_is_better_than_nothing(
    shop: Dependencies,
) -> None:
    for key in ("active customer", "paid", "whale"):
        await learn(shop, ALEX, key, "faded", confidence=0.39)
    await learn(shop, ALEX, "paid", "settled in full", for_project=True)
    await learn(shop, ALEX, "open", "just enough", confidence=0.4)

    found = await resolve(shop, ALEX, ["active customer", "paid", "whale", "open"])

    assert [said.tier for said in found] == ["ontology", "project", "user", "user"]
    assert found[0].why.endswith("(the user's own has a low confidence: 0.39)")
    assert [said.meaning for said in found[1].candidates] == [
        "the value paid of orders.status: The money is here.",
        "faded",
    ]
    assert (found[2].confidence, found[2].why) == (
        0.39,
        "the user's own meaning (friday#3), confidence 0.39, which is low, but there is no other meaning",
    )


async def test_what_time_took_off_a_memory_counts(shop: Dependencies, database: str) -> None:
    await learn(shop, ALEX, "paid", "my own", confidence=0.5)
    assert (await one(shop, "paid")).tier == "user"

    with psycopg.connect(database) as owner:
        owner.execute("UPDATE recollect.memory SET decayed = 0.2")
    assert (await one(shop, "paid")).tier == "ontology"


async def test_many_terms_take_one_round_trip(shop: Dependencies, monkeypatch: pytest.MonkeyPatch) -> None:
    await learn(shop, ALEX, "whale", "spends a lot")
    asked = ["whale", "orders", "大客户", "paid", *(f"word {n}" for n in range(96))]
    trips: list[list[str]] = []
    run = Database.run

    async def counted(self: Database, scope: ScopeId, *statements: Any, write: bool = False) -> Any:
        trips.append([name for name, _ in statements])
        return await run(self, scope, *statements, write=write)

    monkeypatch.setattr(Database, "run", counted)
    found = await resolve(shop, ALEX, asked)

    assert trips == [["memory.resolve", "server.open_scope", "memory.resolve", "term.resolve"]]
    assert [said.term for said in found] == asked
    assert [said.tier for said in found[:5]] == ["user", "ontology", None, "ontology", None]


@pytest.mark.parametrize(
    ("asked", "source"),
    [
        ("the Orders", "table:orders"),
        ("purchase", "table:orders"),
        ("orders.total", "column:orders.total"),
        ("PAID", "value:orders.status=paid"),
        ("client", "table:customers"),
        ("客户", "table:customers"),
        ("活跃客户", "glossary:活跃客户"),
        ("title", "column:customers.name"),
    ],
)
async def test_a_term_is_found_by_its_name_its_last_part_and_its_synonyms(
    shop: Dependencies, asked: str, source: str
) -> None:
    found = await one(shop, asked)
    assert (found.is_resolved, found.source, found.tier) == (True, source, "ontology")


@pytest.mark.parametrize("asked", ["active paying customers", "customer churn", "活跃的客户", "%", "custmers"])
async def test_what_is_only_in_part_or_nearly_known_is_left_open(shop: Dependencies, asked: str) -> None:
    found = await one(shop, asked)
    assert (found.is_resolved, found.meaning, found.confidence, found.candidates) == (False, None, 0.0, ())
    assert found.why == "no meaning is known"


async def test_of_two_things_of_one_name_none_is_chosen(shop: Dependencies) -> None:
    found = await one(shop, "total")
    assert not found.is_resolved
    assert {said.source for said in found.candidates} == {"column:orders.total", "column:invoices.total"}
    assert (
        found.why == "the ontology has several meanings: column:invoices.total, column:orders.total; ask which is meant"
    )

    await put_term(shop, ALEX, Term("total", description="the total of an order"))
    assert (await one(shop, "totals")).source == "glossary:total"
    await learn(shop, ALEX, "id", "the customer's number", confidence=0.3)
    assert (await one(shop, "id")).tier == "user"


async def test_a_memory_learned_as_the_term_beats_one_that_is_only_found_by_it(shop: Dependencies) -> None:
    await learn(shop, ALEX, "client", "who pays us")
    await learn(shop, ALEX, "partners", "call our partners clients", kind="terminology")

    found = await one(shop, "clients")
    assert found.meaning == "who pays us"
    assert [said.meaning for said in found.candidates if said.tier == "user"] == ["call our partners clients"]
    assert (await one(shop, "partner")).meaning == "call our partners clients"


async def test_nobody_is_told_what_another_user_or_project_means(shop: Dependencies) -> None:
    await learn(shop, ALEX, "whale", "spends a lot")
    await learn(shop, ALEX, "minnow", "spends little", for_project=True)

    asked = ["whale", "minnow", "orders"]
    assert [said.tier for said in await resolve(shop, ALEX, asked)] == ["user", "project", "ontology"]
    assert [said.tier for said in await resolve(shop, BLAKE, asked)] == [None, "project", "ontology"]
    assert [said.is_resolved for said in await resolve(shop, ELSEWHERE, asked)] == [False] * 3
    assert await list_terms(shop, ELSEWHERE) == []
    with pytest.raises(NotFound):
        await drop_term(shop, ELSEWHERE, "orders")
    await import_ontology(shop, ELSEWHERE, {"tables": ["accounts"]}, replace=True)
    assert "orders" in await names(shop)


@pytest.fixture
def app(database: str, settings: Settings) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(make_conninfo(database, options=format_session_options(settings))) as connection:
        yield connection


async def test_the_database_itself_shows_a_project_s_terms_to_that_project_alone(
    shop: Dependencies, app: psycopg.Connection[Any]
) -> None:
    def seen() -> int:
        row = app.execute("SELECT count(*) FROM term").fetchone()
        return int(row[0]) if row else -1

    assert has_no_rows(app, "term")
    counts = []
    for scope in (ALEX.project_id, ALEX.id, ELSEWHERE.project_id):
        app.execute("SELECT open_scope(%s)", [scope])
        counts.append(seen())
    assert counts == [len(await names(shop)), 0, 0]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("INSERT INTO term VALUES (%s, 'x', 'table', '{}', '', '{}', NULL, '{}', now(), now())", [ALEX.id])


async def test_an_import_twice_changes_nothing_and_leaves_one_row_of_the_trail(shop: Dependencies) -> None:
    kept = await list_terms(shop, ALEX)
    report = await import_ontology(shop, BLAKE, SHOP)

    assert report == ImportReport(unchanged=len(kept))
    assert await list_terms(shop, ALEX) == kept
    detail = {"added": len(kept), "changed": 0, "removed": 0}
    assert await trail(shop) == [("alex", "imported", "ontology", detail)]


async def test_an_import_adds_and_changes_and_removes_only_when_it_replaces(shop: Dependencies) -> None:
    before = len(await names(shop))
    other = {"tables": {"orders": {"synonyms": ["deals"]}, "refunds": "Money back."}}

    assert await import_ontology(shop, ALEX, other) == ImportReport(added=1, changed=1)
    assert len(await names(shop)) == before + 1
    assert [said.is_resolved for said in await resolve(shop, ALEX, ["deal", "purchase"])] == [True, False]

    assert await import_ontology(shop, ALEX, other, replace=True) == ImportReport(removed=before - 1, unchanged=2)
    assert await names(shop) == ["orders", "refunds"]
    assert [row[3]["removed"] for row in await trail(shop)] == [0, 0, before - 1]


async def test_a_refused_import_leaves_everything_as_it_was(shop: Dependencies) -> None:
    kept = await list_terms(shop, ALEX)
    with pytest.raises(InvalidInput, match=r"ontology\.glossary\.x: says nothing"):
        await import_ontology(shop, ALEX, {"tables": ["new"], "glossary": {"x": {}}}, replace=True)
    assert await list_terms(shop, ALEX) == kept


async def test_imports_at_once_leave_what_one_of_them_says(deps: Dependencies) -> None:
    def numbered(n: int) -> dict[str, Any]:
        return {"tables": {f"t{n}": str(n), "shared": str(n)}}

    await asyncio.gather(*(import_ontology(deps, ALEX, numbered(n), replace=True) for n in range(4)))

    [shared, own] = await list_terms(deps, ALEX)
    assert own.name == f"t{shared.description}"
    assert len(await trail(deps)) == 4


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("custmers", "customers"),
        ("purchses", "orders"),
        ("actve customer", "active customer"),
        ("orders.total", "orders.total"),
        ("money is", "orders.status=paid"),
        ("跃客", "活跃客户"),
        ("Not PAID", "orders.status=open"),
    ],
)
async def test_terms_are_searched_by_words_parts_and_misspelt_names(
    shop: Dependencies, search: str, found: str
) -> None:
    assert (await names(shop, search))[0] == found


async def test_the_list_can_be_narrowed_and_is_bounded(shop: Dependencies) -> None:
    assert await names(shop, kind="glossary") == ["active customer", "活跃客户"]
    assert await names(shop, "customers", kind="table") == ["customers"]
    assert await names(shop, limit=2) == ["customers", "invoices"]
    assert await names(shop, "zebra") == []
    assert await names(shop, "%_") == []
    for options in ({"limit": 0}, {"limit": 20_001}, {"kind": "view"}, {"search": ""}, {"search": "x" * 501}):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            await list_terms(shop, ALEX, **options)


@pytest.mark.parametrize(
    "name",
    ["it's", 'say "hello"', "back\\slash", "per cent %s", "{{x}}", "零售额 🛒", "Ünïcödé", "a;drop table term", "%"],
)
async def test_any_name_is_kept_found_searched_and_dropped(deps: Dependencies, name: str) -> None:
    kept = await put_term(
        deps, ALEX, Term(name, description=f"means {name}", synonyms=[f"other {name}"], sql=f"x = {name!r}")
    )

    assert await list_terms(deps, ALEX, name) == [kept]
    for asked in (name, f"other {name}"):
        assert (await one(deps, asked)).meaning == f"means {name}"
    await drop_term(deps, ALEX, name)
    assert await list_terms(deps, ALEX) == []
    assert [(actor, action) for actor, action, _, _ in await trail(deps)] == [("alex", "defined"), ("alex", "dropped")]


async def test_a_term_is_put_in_the_place_of_the_one_of_its_kind_and_name(shop: Dependencies) -> None:
    new = Term("orders", "table", "What people buy.", ["deals"], data={"owner": "sales"})

    kept = await put_term(shop, ALEX, new)
    assert (
        await put_term(shop, ALEX, kept)
        == kept
        == Term("orders", "table", "What people buy.", ("deals",), None, new.data)
    )
    assert (await list_terms(shop, ALEX, "orders", kind="table"))[0] == kept
    assert [row[1:3] for row in await trail(shop)] == [("imported", "ontology"), ("defined", "table:orders")]


async def test_a_table_goes_with_its_columns_and_of_two_kinds_one_must_say_which(shop: Dependencies) -> None:
    await put_term(shop, ALEX, Term("orders", description="what we live on"))
    with pytest.raises(InvalidInput, match=r"'orders' is a (glossary and a table|table and a glossary); say which"):
        await drop_term(shop, ALEX, "orders")

    await drop_term(shop, ALEX, "orders.status")
    assert not [name for name in await names(shop) if name.startswith("orders.status")]
    await drop_term(shop, ALEX, "orders", "table")
    assert [name for name in await names(shop) if name.startswith("orders")] == [
        "orders.customer_id -> customers.id",
        "orders",
    ]
    with pytest.raises(NotFound, match=r"the ontology has no term 'orders\.total'"):
        await drop_term(shop, ALEX, "orders.total")


@pytest.mark.parametrize(
    ("asked", "definitions", "field"),
    [
        ([], None, "terms"),
        (["x"] * 101, None, "terms"),
        ("orders", None, "terms"),
        (["ok", ""], None, "terms[1]"),
        (["x" * 201], None, "terms[0]"),
        (["x\0"], None, "terms[0]"),
        ([5], None, "terms[0]"),
        (["x"], ["y"], "definitions"),
        (["x"], {"": "y"}, "definitions"),
        (["x"], {"y": ""}, "definitions['y']"),
        (["x"], {f"y{n}": "z" for n in range(1001)}, "definitions"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_what_cannot_be_asked_is_refused_by_name(
    deps: Dependencies, asked: Sequence[str], definitions: Any, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await resolve(deps, ALEX, asked, definitions)
    assert refused.value.field == field
