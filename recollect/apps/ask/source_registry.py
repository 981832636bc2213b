"""SourceRegistry: the data sources of all projects, opened when first asked and kept open.

What is kept of a source (its catalog, its model, who may see what) is in the engine; here it is held ready for
questions, per role, and looked at again every few seconds, because another process may have changed it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

from recollect.apps.ask.gate import Allowed, check_sql
from recollect.apps.ask.interpret import Frame, SchemaIndex
from recollect.apps.ask.interpret.frame import existence_refs
from recollect.apps.ask.question import Ask
from recollect.apps.ask.semantic.access import (
    EVERYTHING,
    Access,
    check_access,
    read_access,
    restrict_catalog,
    restrict_model,
    restrict_sql,
)
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.semantic.model import SemanticModel, list_terms
from recollect.apps.ask.semantic.model_file import dump_model, read_model
from recollect.apps.ask.sources.address_rules import SourceRules, rules_for
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import Source, open_source
from recollect.deadline import run_in_time
from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound, QueryFailed, RecollectError
from recollect.settings import Settings
from recollect.values.data_source import DataSource, ServerIdentity
from recollect.values.scope import Scope
from recollect.values.term import TermKind

log = logging.getLogger("recollect.ask")
SECONDS = 30.0  # a statement may take
COUNT_SECONDS = 2.0  # counting its rows may take
MAX_COUNT = 100_000  # rows that are counted
MAX_TRIED = 5  # sources that a question is tried at
MODEL_KEYS = {
    "entities": ("table",),
    "dimensions": ("table", "column"),
    "measures": ("table", "expression"),
    "moments": ("table", "column"),
    "joins": ("table", "columns", "to"),
}  # parts of a model, and what tells two of them apart
FRESH = 5.0  # seconds for which what is kept of a source is not looked at again


@dataclass(frozen=True)
class View:
    """A source as one role sees it."""

    catalog: Catalog
    model: SemanticModel
    access: Access
    hides: bool = False  # the source has tables that this role does not see

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its tables, in lower case."""
        return frozenset(table.name.casefold() for table in self.catalog.tables)

    @cached_property
    def samples(self) -> dict[str, Rows]:
        """Some rows of each table that a model was shown, as they were read."""
        return {}

    @cached_property
    def index(self) -> SchemaIndex:
        """The schema index that questions are interpreted with."""
        return SchemaIndex.build(self.model, self.catalog)

    @cached_property
    def allowed(self) -> Allowed:
        return Allowed({table.name: [column.name for column in table.columns] for table in self.catalog.tables})

    @property
    def is_whole(self) -> bool:
        return self.access == EVERYTHING

    def has(self, frame: Frame) -> bool:
        """Whether everything that a frame names is to be seen."""
        refs = [*frame.refs(), *(ref for each in frame.existence for ref in existence_refs(each))]
        seen = (self.catalog.has(ref.table, *filter(None, [ref.column])) for ref in refs)
        return all(map(self.catalog.has, frame.tables)) and all(seen)


@dataclass(slots=True)
class OpenSource:
    """An open source and what is known of it."""

    entry: DataSource
    connection: Source
    catalog: Catalog
    model: SemanticModel
    checked_at: float
    views: dict[str, View] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def dialect(self) -> str:
        return self.connection.dialect

    def view(self, role: str) -> View:
        if role not in self.views:
            access = read_access(self.entry.access, role)
            catalog = restrict_catalog(self.catalog, access)
            hides = len(catalog.tables) < len(self.catalog.tables)
            self.views[role] = View(catalog, restrict_model(self.model, catalog), access, hides)
        return self.views[role]


class SourceRegistry:
    """The data sources of all projects. `rules` are those of network callers. `local` in `add` says that the caller has
    the server's own rights: the source stores that, and is opened by the rules of local callers from then on."""

    def __init__(self, engine: Engine, settings: Settings, rules: SourceRules) -> None:
        self._engine = engine
        self._settings = settings
        self._rules = rules
        self._own: ServerIdentity | None = None
        self._open_sources: dict[tuple[str, str], OpenSource] = {}
        self._opening = asyncio.Lock()
        self._names: dict[str, list[str]] = {}  # per project, for when memory does not answer

    async def find_all(self, scope: Scope) -> list[DataSource]:
        return await self._engine.sources.find(scope)

    async def find(self, scope: Scope, name: str) -> OpenSource:
        """Return an open source; what is stored of it was read at most a few seconds ago."""
        known = self._open_sources.get((scope.project, name))
        if known is not None and time.monotonic() - known.checked_at < FRESH:
            return known
        async with self._opening:
            with self._engine.runtime.deadline():
                return await self._load(scope, name)

    async def _load(self, scope: Scope, name: str) -> OpenSource:
        known = self._open_sources.get((scope.project, name))
        try:
            entry = await run_in_time(self._engine.sources.get(scope, name))
        except NotFound:
            await self._close(scope.project, name)
            raise
        except RecollectError:
            if known is None:
                raise
            return known
        if known is not None and entry.updated_at == known.entry.updated_at:
            known.checked_at = time.monotonic()
            return known
        catalog = Catalog.from_data(entry.catalog)
        return await self._hold(scope, entry, catalog, read_model(entry.model, catalog))

    async def add(
        self, scope: Scope, name: str, dsn: str, *, access: Mapping[str, Any] | None = None, local: bool = False
    ) -> OpenSource:
        """Open a database, read it, draft its model, and store all that for the project; or nothing of it."""
        connection = await self._open(scope, dsn, local)
        try:
            catalog = await connection.read_catalog()
            rules = dict(check_access(access or {}, catalog))
            entry = DataSource(name, dsn, catalog.dialect, access=rules, is_local=local)
            return await self._save(scope, entry, catalog, draft_model(catalog), connection)
        except BaseException:
            await connection.close()
            raise

    async def refresh(self, scope: Scope, name: str) -> tuple[OpenSource, bool]:
        """Read the database again; return whether its shape has changed, too. What people edited in the model stays as
        long as it fits; for a new shape another draft is made around it."""
        known = await self.find(scope, name)
        catalog = await known.connection.read_catalog()
        has_changed = catalog.fingerprint != known.entry.fingerprint
        edited = restrict_model(known.model, catalog) if has_changed else known.model
        model = merge_models(edited, draft_model(catalog)) if has_changed else edited
        return await self._save(scope, known.entry, catalog, model), has_changed

    async def edit(
        self, scope: Scope, name: str, *, model: Any = None, access: Mapping[str, Any] | None = None
    ) -> OpenSource:
        """Replace the model (by YAML or a mapping) or the access rules."""
        known = await self.find(scope, name)
        wanted = known.model if model is None else read_model(model, known.catalog)
        rules = known.entry.access if access is None else check_access(access, known.catalog)
        return await self._save(scope, replace(known.entry, access=dict(rules)), known.catalog, wanted)

    async def empty(self, scope: Scope, name: str) -> None:
        """Forget what a database contains, until it is read again."""
        known = await self.find(scope, name)
        await self._save(scope, known.entry, Catalog(known.catalog.dialect), SemanticModel())

    async def drop(self, scope: Scope, name: str) -> None:
        entry = await self._engine.sources.get(scope, name)
        await self._engine.sources.drop(scope, name)
        await self._close(scope.project, name)
        catalog = Catalog.from_data(entry.catalog)
        for kind, term in list_hidden(catalog, Catalog(catalog.dialect)):
            with suppress(NotFound):
                await self._engine.terms.drop(scope, term, kind=kind)

    async def close(self) -> None:
        for project, name in list(self._open_sources):
            await self._close(project, name)

    async def choose(
        self, scope: Scope, wanted: str | None, among: Sequence[str] = (), views: Sequence[str] = ()
    ) -> list[OpenSource]:
        """Return the source that was named, or a few that may be meant: those that views name first."""
        if wanted:
            return [await self.find(scope, wanted)]
        names = await self.find_names(scope, among)
        owners = [name for name in names if any(view.startswith(f"{name}.") for view in views)]
        return [await self.find(scope, name) for name in (owners or names)[:MAX_TRIED]]

    async def choose_one(self, scope: Scope, name: str | None) -> str:
        """Return the source that is meant where only one can be."""
        names = [name] if name else await self.find_names(scope)
        if len(names) > 1:
            raise InvalidInput("source", f"say which of {', '.join(names)}")
        return names[0]

    async def find_names(self, scope: Scope, among: Sequence[str] = ()) -> list[str]:
        """Return the names of the project's sources, or those of some; while memory does not answer, of those that it
        listed last. Raises NotFound if there is none."""
        try:
            with self._engine.runtime.deadline():
                found = await run_in_time(self._engine.sources.find(scope))
            self._names[scope.project] = [source.name for source in found]
        except RecollectError:
            if scope.project not in self._names:
                raise
        names = self._names[scope.project]
        if not names:
            raise NotFound(
                f"project {scope.project!r} has no data source: nothing can be asked; add one with"
                " `recollect sources add NAME DSN`"
            )
        chosen = [name for name in names if not among or name in among]
        if not chosen:
            problem = f"project {scope.project!r} has no data source {', '.join(among)}"
            raise NotFound(f"nothing matches these filters: {problem}")
        return chosen

    async def _save(
        self, scope: Scope, entry: DataSource, catalog: Catalog, model: SemanticModel, connection: Source | None = None
    ) -> OpenSource:
        """Store a source with what the ontology says of its tables, in one transaction; hold it open. Everybody reads
        the ontology, so it has what every role may see."""
        visible = catalog
        for role in entry.access:
            visible = restrict_catalog(visible, read_access(entry.access, role))
        terms = list_terms(restrict_model(model, visible), visible, entry.name) if visible.tables else None
        made = replace(entry, catalog=catalog.to_data(), model=dump_model(model), fingerprint=catalog.fingerprint)
        stored = await self._engine.sources.put(scope, made, terms=terms, hidden=list(list_hidden(catalog, visible)))
        async with self._opening:
            return await self._hold(scope, stored, catalog, model, connection)

    async def _hold(
        self, scope: Scope, entry: DataSource, catalog: Catalog, model: SemanticModel, connection: Source | None = None
    ) -> OpenSource:
        """Hold a source ready: the one that is open at this address, or the one that is given, or a new one."""
        old = self._open_sources.get((scope.project, entry.name))
        if old is not None and (old.entry.dsn, old.entry.is_local) == (entry.dsn, entry.is_local):
            if connection is not None:
                await connection.close()
            connection = old.connection
        else:
            connection = connection or await self._open(scope, entry.dsn, entry.is_local)
            await self._close(scope.project, entry.name)
        known = OpenSource(entry, connection, catalog, model, time.monotonic())
        self._open_sources[scope.project, entry.name] = known
        return known

    async def _open(self, scope: Scope, dsn: str, local: bool) -> Source:
        """Open an address under the present rules for the kind of caller that added it. Our own database is refused."""
        if self._own is None:
            self._own = await self._engine.runtime.server_identity()
        rules = rules_for(self._rules, self._settings, scope.project, local=local)
        return await open_source(dsn, rules=rules, own=self._own)

    async def _close(self, project: str, name: str) -> None:
        known = self._open_sources.pop((project, name), None)
        if known is not None:
            await known.connection.close()


def list_hidden(catalog: Catalog, shown: Catalog) -> Iterator[tuple[TermKind, str]]:
    """Yield the tables and columns that one has and the other has not, and columns of which only one shows values."""
    for table in catalog.tables:
        there = shown.table(table.name)
        if there is None:
            yield "table", table.name
            continue
        values = {column.name: column.values for column in there.columns}
        changed = (each for each in table.columns if values.get(each.name) != each.values)
        yield from (("column", f"{table.name}.{each.name}") for each in changed)


def merge_models(edited: SemanticModel, drafted: SemanticModel) -> SemanticModel:
    """Return what people wrote, and what is new in the database beside it."""
    parts = {}
    for part, keys in MODEL_KEYS.items():
        old, read_key = getattr(edited, part), attrgetter(*keys)
        known = set(map(read_key, old))
        parts[part] = (*old, *(each for each in getattr(drafted, part) if read_key(each) not in known))
    return replace(edited, **parts)


# What comes into question, and the five ways in which nothing does --------------------------------------------------


def narrow_view(view: View, source: str, ask: Ask) -> View:
    """Return what of a source a question may be about. Raises NotFound, which says why, if that is nothing."""
    if not view.catalog.tables:
        hidden = f"no permission: you may see no table of the data source {source!r}; ask whoever keeps it"
        unknown = f"the data source {source!r} is not synchronised: its tables are not known; read it (/getMetadata)"
        raise NotFound(hidden if view.hides else unknown)
    if ask.tags:
        raise NotFound(f"nothing matches these filters: no table of {source!r} has the tag {', '.join(ask.tags)}")
    names = [name.removeprefix(f"{source}.") for name in ask.views]
    missing = [name for name in names if view.catalog.table(name) is None]
    if missing:
        raise NotFound(f"views not found: {source!r} has no {', '.join(missing)} that you may see")
    if not names or not ask.only_views:
        return view
    catalog = view.catalog.only(names)
    return View(catalog, restrict_model(view.model, catalog), view.access)


# Rows ----------------------------------------------------------------------------------------------------------------


async def run_sql(
    source: Source, view: View, sql: str, rows: int, user: str | None, seconds: float = SECONDS
) -> Rows:  # fmt: skip
    """Return at most so many rows of a statement, of those that the role may see. Raises InvalidInput if the gate
    refuses it, and QueryFailed if it fails."""
    made = check_sql(sql, source.dialect, view.allowed, rows=rows)
    own = restrict_sql(made.sql, source.dialect, view.access)
    return await source.run(own, rows=rows, timeout=seconds, user=user)


async def fetch_rows(source: Source, view: View, sql: str, limit: int, user: str | None) -> Rows:
    """Return at most `limit` rows of a statement. Where there are more, `is_truncated` says so, and `total` is their
    number if it is cheap to know."""
    found = await run_sql(source, view, sql, limit, user)
    if len(found.rows) < limit and not found.is_truncated:
        return found
    try:
        inner = check_sql(sql, source.dialect, view.allowed, rows=MAX_COUNT + 1).sql
        counted = restrict_sql(f"SELECT COUNT(*) FROM ({inner}) AS counted", source.dialect, view.access)
        [[total]] = (await source.run(counted, rows=1, timeout=COUNT_SECONDS, user=user)).rows
    except QueryFailed as error:
        log.info("the rows of a result were not counted: %s", error)
        again = await run_sql(source, view, sql, limit + 1, user)
        is_more = len(again.rows) > limit or again.is_truncated
        return replace(again, rows=again.rows[:limit], is_truncated=is_more, seconds=again.seconds + found.seconds)
    if total > MAX_COUNT:
        return replace(found, is_truncated=True)
    return replace(found, is_truncated=total > len(found.rows), total=total)
