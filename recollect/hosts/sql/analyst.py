"""The analyst: a question to a database the whole way. Memory is read, a way to an answer is found, its SQL passes the
gate and runs, and the question goes into the log with what came of it.

    remember -> propose (repeat, pattern, model, frame, edit; or ask back) -> gate -> run -> say -> record

Nothing runs that the gate did not pass. Memory that fails is done without. A question is recorded whether or not it
could be answered. Doors call `answer` or `ask`; what is said is made in telling.py, what is taught in teaching.py;
wire.py makes an analyst and closes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime

from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound, QueryFailed
from recollect.hosts.sql.asking import Answer, Ask
from recollect.hosts.sql.by_model import Talk, begun, fixed, note_failure, spoken, spoken_of_schema, written
from recollect.hosts.sql.library import Library, Shelf, narrowed
from recollect.hosts.sql.metadata import is_about_metadata, metadata_text
from recollect.hosts.sql.recording import recorded
from recollect.hosts.sql.remembering import Reader, Remembered, within
from recollect.hosts.sql.running import Rows
from recollect.hosts.sql.suggesting import further
from recollect.hosts.sql.teaching import share
from recollect.hosts.sql.telling import answer_of, model_of, spent_on, timed, unanswered, with_tables
from recollect.hosts.sql.ways import Case, Proposal, Ran, fitting, framed, lookups, reading, repeated
from recollect.model.memory import Memory
from recollect.model.resolution import Resolution
from recollect.model.scope import Scope
from recollect.ports import Reasoner
from recollect.settings import Settings
from recollect.sql.access import restricted
from recollect.sql.gate import Passed, passed
from recollect.sql.known import FoundValue
from recollect.sql.reading import Reading
from recollect.sql.told import told

log = logging.getLogger("recollect.ask")
FIXES = 2
SECONDS = 30.0  # a statement may take
MOST_MODELS = 20  # that requests may name
EMPTY_RESULT = "the result is empty; check the filters and their spelling"


class Analyst:
    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        reasoner: Reasoner | None = None,
        other_model: Callable[[str], Reasoner | None] | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self.engine = engine
        self.library = Library(engine)
        self.reader = Reader(engine, settings)
        self._settings = settings
        self._reasoner = reasoner
        self._other_model = other_model
        self._others: dict[str, Reasoner] = {}
        self.today = today

    async def answer(self, scope: Scope, ask: Ask, mode: str = "default") -> Answer:
        """As `ask`; a question about the database itself is answered from its catalog."""
        if mode == "metadata" or (mode == "default" and is_about_metadata(ask.question)):
            return await self._done(scope, ask, self._described)
        return await self.ask(scope, ask)

    async def ask(self, scope: Scope, ask: Ask) -> Answer:
        """An answer, or what has to be known first. Without a session in the scope a new one is begun."""
        return await self._done(scope, ask, self._answered)

    async def checked(self, scope: Scope, source: str, role: str, sql: str, rows: int = 100) -> tuple[Shelf, Passed]:
        """Some SQL, through the gate, as this role may write it."""
        shelf = await self.library.find(scope, source)
        return shelf, passed(sql, shelf.source.dialect, shelf.view(role).allowed, rows=rows)

    async def run(self, scope: Scope, source: str, role: str, sql: str, rows: int = 100) -> tuple[Passed, Rows]:
        """SQL that somebody gives, guarded like any other."""
        shelf, made = await self.checked(scope, source, role, sql, rows)
        cut = restricted(made.sql, shelf.source.dialect, shelf.view(role).access)
        return made, await shelf.source.run(cut, rows=rows, timeout=SECONDS)

    async def close(self) -> None:
        await self.library.close()
        for reasoner in self._others.values():
            await reasoner.close()

    # The way of a question --------------------------------------------------------------------------------------------

    async def _done(self, scope: Scope, ask: Ask, work: Callable[[Scope, Case], Awaitable[Answer]]) -> Answer:
        began = time.perf_counter()
        if ask.remembers:
            scope = await self.reader.place(scope)
        case = await self._case(scope, ask)
        answer = timed(case, with_tables(case, await work(scope, case)), began)
        answer = await recorded(self.reader, scope, case, answer)
        await self._shared(scope, case, answer)
        return answer

    async def _case(self, scope: Scope, ask: Ask) -> Case:
        """The question at the source that understands most of it, with what memory has for it there."""
        remembers = ask.remembers and self._settings.enabled
        memory = await self.reader.remember(scope, ask) if remembers else None
        words = memory.resolutions if memory else await self.reader.words(scope, ask)
        approved = await self.reader.approved(scope)
        shelves = await self.library.choose(scope, ask.source, ask.sources, ask.views)
        cases, refused = list[Case](), list[NotFound]()
        for shelf in shelves:
            try:
                cases.append(self._at(shelf, ask, memory, words, approved))
            except NotFound as error:
                refused.append(error)
        if not cases:
            raise refused[0]
        best = cases[0] if len(cases) == 1 else min(cases, key=open_words)
        if memory is None:
            return best
        seen = within(memory, best.shelf.kept.name, best.view, self._settings.context_tokens)
        return replace(best, memory=seen)

    def _at(
        self,
        shelf: Shelf,
        ask: Ask,
        memory: Remembered | None,
        words: tuple[Resolution, ...],
        approved: tuple[Memory, ...],
    ) -> Case:
        view = narrowed(shelf.view(ask.role), shelf.kept.name, ask)
        preferences = memory.preferences if memory else ()
        known = told(ask.question, words, preferences, ask.context, view.model, view.catalog, self.today())
        if not view.is_whole:
            # What the ontology says of a word may name tables that this role does not see.
            known = replace(known, open=tuple(each for each in known.open if each.source != "ontology"))
        return Case(ask, shelf, view, known, approved, memory, self.today())

    async def _described(self, scope: Scope, case: Case) -> Answer:
        """What the database contains, as far as this role may see it."""
        text, words = metadata_text(case.view, case.question, markdown=case.ask.markdown), None
        talk = self._talk(case) if case.ask.verbose else None
        if talk is not None:
            words = await spoken_of_schema(talk, case, self._settings.suggestion_count)
        answer = unanswered(case, Proposal("given", refused=words[0] if words else text), talk)
        return replace(answer, related=words[1] if words else (), model=model_of(talk) if words else None)

    async def _answered(self, scope: Scope, case: Case) -> Answer:
        for way in (repeated, fitting):
            proposal = way(case)
            ran = None if proposal is None else await self._tried(scope, case, proposal)
            if ran is not None:
                return await self._said(case, ran, None)
        talk = self._talk(case)
        if talk is None:
            return await self._by_rules(case, None)
        answer = await self._by_model(case, talk) or await self._by_rules(case, talk)
        if not answer.sql and talk.failed is not None:
            return await self._said(case, talk.failed, talk)
        return answer

    def _talk(self, case: Case) -> Talk | None:
        """With the configured model, or another at the same server if the question names one."""
        reasoner, wanted = self._reasoner, case.ask.model
        if reasoner is None or not case.ask.by_model:
            return None
        if wanted and wanted != reasoner.name and self._other_model is not None:
            if wanted not in self._others and len(self._others) < MOST_MODELS and (made := self._other_model(wanted)):
                self._others[wanted] = made
            reasoner = self._others.get(wanted, reasoner)
        return begun(reasoner, case)

    async def _by_rules(self, case: Case, talk: Talk | None) -> Answer:
        read = reading(case)
        if found := await self._looked_up(case, read):
            case = replace(case, values=found)
            read = reading(case)
        proposal = framed(case, read)
        if proposal.refused or not proposal.sql or self._must_ask(case, proposal):
            return unanswered(case, replace(proposal, sql=""), talk)
        try:
            ran = await self._ran(case, proposal)
        except InvalidInput as denied:
            return unanswered(case, replace(proposal, sql="", refused=str(denied)), talk)
        return await self._said(case, ran, talk)

    async def _by_model(self, case: Case, talk: Talk) -> Answer | None:
        """None: the model was of no use, the rules go on."""
        proposal = await written(talk, case)
        while proposal is not None and proposal.sql:
            ran, problem = await self._judged(case, proposal)
            if ran is not None and problem is None:
                return await self._said(case, ran, talk)
            note_failure(talk, proposal, ran, problem or "")
            if len(talk.tried) > FIXES or not (case.ask.fix or problem == EMPTY_RESULT):
                break
            proposal = await fixed(talk, case, problem or "")
        if talk.failed is not None and talk.failed.error is None:
            return await self._said(case, talk.failed, talk)
        if proposal is None or proposal.sql or not case.ask.clarify:
            return None
        return replace(unanswered(case, proposal, talk), model=model_of(talk))

    async def _judged(self, case: Case, proposal: Proposal) -> tuple[Ran | None, str | None]:
        """What came of it, and what is wrong with that."""
        try:
            ran = await self._ran(case, proposal)
        except InvalidInput as denied:
            return None, str(denied)
        is_suspicious = case.ask.review and ran.rows is not None and not ran.rows.rows
        return ran, ran.error or (EMPTY_RESULT if is_suspicious else None)

    def _must_ask(self, case: Case, proposal: Proposal) -> bool:
        is_open = bool(proposal.clarifications) and proposal.confidence < self._settings.clarify_below
        return case.ask.clarify and is_open

    async def _looked_up(self, case: Case, read: Reading) -> tuple[FoundValue, ...]:
        """Names that the catalog does not show are looked up where they may stand."""
        columns = lookups(case, read.lookups)
        if not columns or not read.lookups:
            return ()
        try:
            found = await case.shelf.source.values_like(columns, read.lookups)
        except QueryFailed as error:
            log.warning("names could not be looked up: %s", error)
            return ()
        return tuple(FoundValue(each.table, each.column, each.value) for each in found)

    async def _tried(self, scope: Scope, case: Case, proposal: Proposal) -> Ran | None:
        """What was approved once may have been ended, be no longer allowed, or no longer run: then the other ways are
        tried."""
        if proposal.vetted in case.approved and not await self.reader.is_current(scope, proposal.vetted):
            self.reader.changed(scope.project)
            return None
        ran, problem = await self._judged(case, proposal)
        if problem is not None:
            log.info("a vetted query was not used: %s", problem)
        return None if ran is None or ran.error else ran

    async def _ran(self, case: Case, proposal: Proposal) -> Ran:
        source, view = case.shelf.source, case.view
        made = passed(proposal.sql, source.dialect, view.allowed, rows=case.ask.rows)
        if not case.ask.execute:
            return Ran(proposal, made)
        cut = restricted(made.sql, source.dialect, view.access)
        try:
            return Ran(proposal, made, await source.run(cut, rows=case.ask.rows, timeout=SECONDS))
        except QueryFailed as error:
            return Ran(proposal, made, error=str(error))

    async def _said(self, case: Case, ran: Ran, talk: Talk | None) -> Answer:
        words, more = None, tuple[str, ...]()
        if talk is not None and not talk.is_away and ran.rows is not None and ran.rows.rows and case.ask.verbose:
            words = await spoken(talk, case, ran.rows, self._settings.suggestion_count)
        if case.ask.verbose and self._settings.suggestions:
            more = words[1] if words else further(case, ran.proposal, self._settings.suggestion_count)
        answer = spent_on(answer_of(case, ran, talk), talk)
        by_model = bool(words) or ran.proposal.way == "model"
        text = words[0] if words else answer.text
        return replace(answer, text=text, related=more, model=model_of(talk) if by_model else None)

    async def _shared(self, scope: Scope, case: Case, answer: Answer) -> None:
        """What several users ask alike is proposed to the project, where that is switched on."""
        memory = case.memory
        is_own = memory is not None and memory.standalone == case.question and answer.way in ("frame", "model")
        if not self._settings.cross_user or not is_own or not answer.sql or answer.error:
            return
        try:
            await share(self, scope, answer.source, case.question, answer.sql)
        # The answer is there; that others asked alike must not fail it.
        except Exception:
            log.exception("a shared question could not be noted")


def open_words(case: Case) -> tuple[bool, int, bool]:
    """The less, the better this source understands the question; the last one used wins a tie."""
    read, memory = reading(case), case.memory
    is_other = not (memory and memory.last and memory.last.get("source") == case.shelf.kept.name)
    return read.frame is None, len(read.unknown) + len(read.clarifications), is_other
