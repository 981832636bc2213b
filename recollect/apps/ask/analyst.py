"""The analyst answers questions to databases: it reads memory, finds a way to an answer, checks and runs its SQL, and
records the question with its answer.

    remember -> propose (choice, repeat, pattern, model, interpretation; or ask back) -> gate -> run -> word -> record

Nothing runs that the gate did not pass. If memory fails, the answer is made without it. A question is recorded whether
or not it could be answered. Servers call `answer`, `ask`, `choose` or `clarify`; bootstrap.py makes an analyst.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from recollect.apps.ask.agreement import (
    Group,
    Vote,
    group_votes,
    is_settled,
    list_rule_votes,
    make_question,
    rate_agreement,
)
from recollect.apps.ask.answers import answer_of, model_of, spent_on, timed, unanswered, with_tables
from recollect.apps.ask.choices import Offers, list_offered, pick_choice, read_clarifications
from recollect.apps.ask.gate.check import CheckedSql, check_sql
from recollect.apps.ask.interpret import Decision
from recollect.apps.ask.interpretation import Interpretation, interpret_question, probe
from recollect.apps.ask.llm import Talk, list_examples, repair_sql, sample_sql, word_rows, word_schema
from recollect.apps.ask.memory import Reader, Remembered, log_failure, resume_context, within
from recollect.apps.ask.metadata import is_about_metadata, metadata_text
from recollect.apps.ask.patterns import normal
from recollect.apps.ask.proposals import (
    Case,
    Proposal,
    Ran,
    fitting,
    list_used_words,
    propose_choice,
    propose_interpretation,
    repeated,
    whole_rows,
)
from recollect.apps.ask.question import Answer, Ask, Choice, Clarification, Learned
from recollect.apps.ask.recording import recorded
from recollect.apps.ask.row_counts import fetch_rows
from recollect.apps.ask.schema_prompt import choose_tables, fetch_samples
from recollect.apps.ask.session_context import SessionContext
from recollect.apps.ask.source_registry import Library, Shelf, narrowed
from recollect.apps.ask.sources.address_rules import SourceRules
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sql_text import add_conditions, describe_sql
from recollect.apps.ask.suggestions import further
from recollect.apps.ask.teaching import find_definition, is_name, learn_choice, learn_meaning, owner_of, share
from recollect.apps.ask.vocabulary import build_vocabulary
from recollect.deadline import run_in_time
from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound, QueryFailed, ReasonerFailed
from recollect.ports import Reasoner, WindowedReasoner
from recollect.settings import Settings
from recollect.values.conversation import Turn
from recollect.values.memory import Memory
from recollect.values.query import MAX_QUERY_CHARS
from recollect.values.resolution import Resolution
from recollect.values.scope import Scope
from recollect.values.sensitive_data import mask_text

log = logging.getLogger("recollect.ask")
SURE, PER_ASKED = 0.9, 0.25  # confidence without questions back, and what each of them costs
MOST_MODELS = 20  # that requests may name
WITHOUT_MEMORY = "answered without memory"
EMPTY_RESULT = "the result is empty; check the filters and their spelling"
KINDS = ("answer", "assume", "choices", "unclear")  # of decisions, best first
OFFERS = 200  # turns of a session in which a clarification is looked for
LATEST, LATEST_TURNS = 3, 20  # sessions and turns of each in which a question is looked for


class Analyst:
    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        rules: SourceRules,
        reasoner: Reasoner | None = None,
        other_model: Callable[[str], Reasoner | None] | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self.engine = engine
        self.library = Library(engine, settings, rules)
        self.reader = Reader(engine, settings)
        self._settings = settings
        self._reasoner = reasoner
        self._other_model = other_model
        self._others: dict[str, Reasoner] = {}
        self._offers = Offers()
        self.today = today

    async def answer(self, scope: Scope, ask: Ask, mode: str = "default") -> Answer:
        """As `ask`; a question about the database itself is answered from its catalog."""
        if mode == "metadata" or (mode == "default" and is_about_metadata(ask.question)):
            return await self._done(scope, ask, self._described)
        return await self.ask(scope, ask)

    async def ask(self, scope: Scope, ask: Ask) -> Answer:
        """An answer, or what has to be known first. Without a session in the scope a new one is begun. A message that
        says what a word means is learned."""
        is_teaching = ask.remembers and ask.learns and self._settings.enabled and ask.choice is None
        taught = find_definition(ask.question) if is_teaching else None
        if taught is None:
            return await self._done(scope, ask, self._answered)

        async def learn(place: Scope, case: Case) -> Answer:
            # "Call the clients in Rome" is no definition unless it names something in the database.
            if taught[1].startswith("refers to") and not is_name(self, case.shelf, *taught):
                return await self._answered(place, case)
            memory = await learn_meaning(self, place, case.shelf.kept.name, *taught, "", may_share=False)
            learned = Learned(str(memory.id), memory.key, memory.value, "user")
            text = f'Saved for you: "{memory.key}" means {memory.value}.'
            answer = unanswered(case, Proposal("given", refused=text), None)
            return replace(answer, learned=(learned,))

        return await self._done(scope, ask, learn)

    async def choose(self, scope: Scope, ask: Ask, clarification: str, reply: str) -> Answer:
        """Answer a choice that was offered to the user under this id. `reply` is its id, number or label; the question
        of `ask` does not count."""
        _, _, session = clarification.partition("@")
        place = replace(scope, session=session) if session else scope
        source, offer = self._offers.find(scope, clarification) or await self._find_offer(place, clarification)
        choice = pick_choice(reply, offer.choices)
        if choice is None:
            offered = ", ".join(f"{one.id} ({one.label})" for one in offer.choices)
            raise InvalidInput("choice", f"{reply!r} is not one of the choices: {offered}")
        return await self.ask(place, replace(ask, question=choice.label, source=source, choice=choice))

    async def _find_offer(self, scope: Scope, clarification: str) -> tuple[str, Clarification]:
        """Return the source and the clarification of an id from the log of its session."""
        turns = await self.engine.history(scope, limit=OFFERS) if scope.session else []
        for turn in reversed(turns):
            data = turn.data or {}
            if turn.role == "assistant" and data.get("host") == "sql":
                for each in read_clarifications(data):
                    if each.id == clarification:
                        return data["source"], each
        raise NotFound(f"there is no clarification {clarification!r}; ask the question again")

    async def teach(self, scope: Scope, ask: Ask, term: str, meaning: str, *, may_share: bool = True) -> Answer:
        """Learn what a term means, without a question to answer."""
        memory = await learn_meaning(self, scope, ask.source, term, meaning, "", may_share=may_share)
        owner = owner_of(term, meaning, may_share=may_share)
        learned = Learned(str(memory.id), memory.key, memory.value, owner)
        return Answer("", f'Saved: "{memory.key}" means {memory.value}', source=ask.source or "", learned=(learned,))

    async def clarify(self, scope: Scope, ask: Ask, term: str, reply: str, *, may_share: bool = True) -> Answer:
        """Answer a question again, given what a term in it means. A reply that is one of the offered choices is
        answered as such; any other is learned first."""
        place, data = await self._find_asked(scope, ask)
        choice = pick_choice(reply, list_offered(data)) if data else await self._offer_again(place, ask, reply)
        if choice is not None:
            source = data["source"] if data else ask.source
            return await self.ask(place, replace(ask, question=choice.label, source=source, choice=choice))
        memory = await learn_meaning(self, place, ask.source, term, reply, ask.question, may_share=may_share)
        owner = owner_of(term, reply, may_share=may_share)
        return await self.ask(place, replace(ask, learned=(Learned(str(memory.id), memory.key, memory.value, owner),)))

    async def _find_asked(self, scope: Scope, ask: Ask) -> tuple[Scope, Mapping[str, Any]]:
        """Return the session in which the user asked this question last, and the data of the reply. Without such a
        session, return the scope unchanged and no data."""
        if not (ask.remembers and self._settings.enabled):
            return scope, {}
        talks = [] if scope.session else await self.engine.conversations(scope, limit=LATEST)
        for session in [scope.session] if scope.session else [talk.session for talk in talks]:
            place = replace(scope, session=session)
            data = find_reply(await self.engine.history(place, limit=LATEST_TURNS), ask.question)
            if data:
                return place, data
        return scope, {}

    async def _offer_again(self, scope: Scope, ask: Ask, reply: str) -> Choice | None:
        """Return the choice that a reply names, of the question interpreted once more, where nothing is stored."""
        case = await self._case(scope, replace(ask, remembers=False))
        found = case.interpretation or await self._interpret(case)
        asked_back = propose_interpretation(case, found).clarifications
        return next((one for each in asked_back if (one := pick_choice(reply, each.choices))), None)

    async def checked(
        self, scope: Scope, source: str, role: str, sql: str, rows: int = 100
    ) -> tuple[Shelf, CheckedSql]:
        """Some SQL, through the gate, as this role may write it."""
        shelf = await self.library.find(scope, source)
        return shelf, check_sql(sql, shelf.source.dialect, shelf.view(role).allowed, rows=rows)

    async def run(self, scope: Scope, source: str, role: str, sql: str, rows: int = 100) -> tuple[CheckedSql, Rows]:
        """SQL that somebody gives, guarded like any other."""
        shelf, made = await self.checked(scope, source, role, sql, rows)
        return made, await fetch_rows(shelf.source, shelf.view(role), made, rows, scope.user)

    async def close(self) -> None:
        await self.library.close()
        for reasoner in self._others.values():
            await reasoner.close()

    def kept_text(self, text: str) -> str:
        """Return a text as it may be stored, before anything is derived from it: where the setting says so, without
        sensitive data. What is masked cannot be looked up in the database either."""
        return mask_text(text) if self._settings.mask_sensitive else text

    # The way of a question --------------------------------------------------------------------------------------------

    async def _done(self, scope: Scope, ask: Ask, work: Callable[[Scope, Case], Awaitable[Answer]]) -> Answer:
        began = time.perf_counter()
        with self.engine.runtime.deadline() as limit:
            if ask.remembers:
                ask = replace(ask, question=self.kept_text(ask.question)[:MAX_QUERY_CHARS])
                scope = await self.reader.place(scope)
            case = await self._case(scope, ask)
            answer = timed(case, with_tables(case, await work(scope, case)), began)
            answer = replace(answer, learned=(*ask.learned, *answer.learned))
            answer = await recorded(self.reader, scope, case, answer)
            await self._shared(scope, case, answer)
        self._offers.keep(scope, answer.source, answer.clarifications)
        if not limit.problem:
            return answer
        return replace(answer, memory=None, notes=(*answer.notes, f"{WITHOUT_MEMORY}: {limit.problem}"))

    async def _case(self, scope: Scope, ask: Ask) -> Case:
        """The question at the source that understands most of it, with what memory has for it there."""
        remembers = ask.remembers and self._settings.enabled
        memory = await self.reader.remember(scope, ask) if remembers else None
        if memory is not None:
            ask, memory = resume_context(ask, memory)
        words = memory.resolutions if memory else await self.reader.words(scope, ask)
        approved = await self.reader.approved(scope)
        await self.reader.keep_glossary(scope)
        shelves = await self.library.choose(scope, ask.source, ask.sources, ask.views)
        cases, refused = list[Case](), list[NotFound]()
        for shelf in shelves:
            try:
                cases.append(self._at(scope, shelf, ask, memory, words, approved))
            except NotFound as error:
                refused.append(error)
        if not cases:
            raise refused[0]
        return cases[0] if len(cases) == 1 else await self._best(cases)

    def _at(
        self,
        scope: Scope,
        shelf: Shelf,
        ask: Ask,
        memory: Remembered | None,
        words: tuple[Resolution, ...],
        approved: tuple[Memory, ...],
    ) -> Case:
        """Return the question with what is known about it at one source."""
        name = shelf.kept.name
        view = narrowed(shelf.view(ask.role), name, ask)
        preferences = memory.preferences if memory else ()
        taught = build_vocabulary(
            ask.question, words, preferences, ask.context or SessionContext(), view.index, self.today()
        )
        choice = ask.choice
        if memory is not None:
            offer = memory.last or {}
            if choice is None and offer.get("source") == name and not offer.get("sql"):
                choice = pick_choice(ask.question, list_offered(offer))
            memory = within(memory, name, view, self._settings.context_tokens)
        return Case(ask, shelf, view, taught, approved, memory, self.today(), scope.user, scope.session, choice)

    async def _best(self, cases: Sequence[Case]) -> Case:
        """Return the question at the source that answers it best: by a choice or a vetted statement, else by its
        interpretation there; the last source used wins a tie."""
        for case in cases:
            if case.choice is not None or repeated(case) or fitting(case):
                return case
        found = [replace(case, interpretation=await self._interpret(case)) for case in cases]
        return min(found, key=rank_case)

    async def _interpret(self, case: Case) -> Interpretation:
        return await interpret_question(
            case.shelf.source, case.view, case.question, case.taught.vocabulary, last=case.last, today=case.today,
            user=case.user,
        )  # fmt: skip

    async def _described(self, scope: Scope, case: Case) -> Answer:
        """What the database contains, as far as this role may see it."""
        text, words = metadata_text(case.view, case.question, markdown=case.ask.markdown), None
        talk = await self._talk(case) if case.ask.verbose else None
        if talk is not None:
            words = await word_schema(talk, self._settings.suggestion_count, case.ask.on_text)
        answer = unanswered(case, Proposal("given", refused=words[0] if words else text), talk)
        return replace(answer, related=words[1] if words else (), model=model_of(talk) if words else None)

    async def _answered(self, scope: Scope, case: Case) -> Answer:
        if case.choice is not None:
            return await self._answer_choice(scope, case, case.choice)
        for way in (repeated, fitting):
            proposal = way(case)
            ran = None if proposal is None else await self._tried(scope, case, proposal)
            if ran is not None:
                return await self._said(case, ran, None)
        talk = await self._talk(case)
        if talk is None:
            return await self._by_rules(case, None)
        case = replace(case, interpretation=case.interpretation or await self._interpret(case))
        answer = await self._by_model(case, talk) or await self._by_rules(case, talk)
        if not answer.sql and talk.failed is not None:
            return await self._said(case, talk.failed, talk)
        return answer

    async def _talk(self, case: Case) -> Talk | None:
        """With the configured model, or another at the same server if the question names one."""
        reasoner, wanted = self._reasoner, case.ask.model
        if reasoner is None or not case.ask.by_model:
            return None
        if wanted and wanted != reasoner.name and self._other_model is not None:
            if wanted not in self._others and len(self._others) < MOST_MODELS and (made := self._other_model(wanted)):
                self._others[wanted] = made
            reasoner = self._others.get(wanted, reasoner)
        try:
            window = await reasoner.window() if isinstance(reasoner, WindowedReasoner) else 0
        except ReasonerFailed:
            window = 0
        return Talk(reasoner, case, window, time.perf_counter() + self._settings.model_timeout)

    async def _answer_choice(self, scope: Scope, case: Case, choice: Choice) -> Answer:
        """Answer an offered choice, and learn what choosing it teaches."""
        ran = await self._ran(case, propose_choice(case, choice))
        learned: tuple[Learned, ...] = ()
        if case.ask.remembers and case.ask.learns and self._settings.enabled and ran.error is None:
            try:
                learned = await run_in_time(learn_choice(self, scope, choice, case.question, case.shelf.kept.name))
            # As with reading: what cannot be learned must not fail the answer.
            except Exception as error:  # noqa: BLE001
                log_failure("a choice could not be learned", error)
        return await self._said(case, replace(ran, learned=learned), None)

    async def _by_rules(self, case: Case, talk: Talk | None) -> Answer:
        found = case.interpretation or await self._interpret(case)
        proposal = propose_interpretation(case, found)
        if not proposal.sql or self._must_ask(case, proposal):
            return unanswered(case, replace(proposal, sql=""), talk)
        try:
            ran = await self._ran(case, replace(proposal, clarifications=()))
        except InvalidInput as denied:
            return unanswered(case, replace(proposal, sql="", refused=str(denied)), talk)
        return await self._said(case, ran, talk)

    async def _by_model(self, case: Case, talk: Talk) -> Answer | None:
        """Return the answer that most statements of the model and the rules agree on; None if the model gave none."""
        talk.case = case
        await fetch_samples(
            case.shelf.source, case.view, choose_tables(case.view, case.question, case.ask.shown), case.user
        )
        samples = case.ask.samples or self._settings.model_samples
        votes = list_rule_votes(case.interpretation) if samples > 1 and case.interpretation else []
        asked: tuple[Clarification, ...] = ()
        for sample in range(samples):
            written = None if talk.is_over else await sample_sql(talk, sample)
            if written is None:
                continue
            asked = asked or written.questions
            vote = await self._vote(case, talk, written.sql) if written.sql else None
            votes += [vote] if vote else []
            if vote and is_settled(group_votes(votes)):
                break
        if any(vote.reading is None for vote in votes):
            return await self._agreed(case, talk, group_votes(votes))
        if not asked or not case.ask.clarify or talk.tried:
            return None
        proposal = Proposal("model", confidence=max(0.0, SURE - PER_ASKED * len(asked)), clarifications=asked)
        return replace(unanswered(case, proposal, talk), model=model_of(talk))

    async def _vote(self, case: Case, talk: Talk, sql: str) -> Vote | None:
        """Return a statement with its rows. One that fails or finds nothing is asked for again; without a better one,
        the statement that found nothing stands."""
        best, wanted = None, None if sql in talk.refused else sql
        while wanted is not None:
            try:
                made = self._with_filters(case, wanted)
                vote = Vote(made, await probe(made, case.shelf.source, case.view, case.user))
            except (InvalidInput, QueryFailed) as error:
                problem, may_repair = str(error), case.ask.fix
                if isinstance(error, QueryFailed):
                    checked = check_sql(made, case.shelf.source.dialect, case.view.allowed, rows=case.ask.rows)
                    talk.failed = Ran(Proposal("model", made), checked, error=problem)
            else:
                if any(cell is not None for row in vote.rows.rows for cell in row):
                    return vote
                best = best or vote
                problem, may_repair = EMPTY_RESULT, case.ask.review
            talk.note_failure(wanted, problem)
            wanted = await repair_sql(talk, wanted, problem) if may_repair else None
        return best

    def _with_filters(self, case: Case, sql: str) -> str:
        """Return a statement with the standing filters of its tables, but for columns that it has a condition on."""
        made = check_sql(sql, case.shelf.source.dialect, case.view.allowed, rows=case.ask.rows)
        used = set(map(str.casefold, made.columns))
        missing = {
            each.filter.table.casefold(): each.filter.condition
            for each in case.taught.filters
            if each.filter.table in made.tables and f"{each.filter.table}.{each.column}".casefold() not in used
        }
        return add_conditions(sql, case.shelf.source.dialect, missing) if missing else sql

    async def _agreed(self, case: Case, talk: Talk, groups: Sequence[Group]) -> Answer:
        """Return the answer of the largest group; choices, if none is large enough and the question may be asked
        back."""
        best, sure = groups[0], rate_agreement(groups)
        labels = [
            group.reading.label if group.reading else describe_sql(group.first.sql, case.view.catalog.dialect)
            for group in groups
        ]
        if case.ask.clarify and len(groups) > 1 and sure < self._settings.clarify_below:
            question = make_question(groups, labels, case.question, case.session)
            proposal = Proposal("model", confidence=sure, clarifications=(question,))
            return replace(unanswered(case, proposal, talk), model=model_of(talk))
        made = check_sql(best.first.sql, case.shelf.source.dialect, case.view.allowed, rows=case.ask.rows)
        proposal = Proposal(
            "model",
            best.first.sql,
            labels[0],
            sure,
            assumptions=list_used_words(case, made),
            frame=best.reading.frame if best.reading else None,
            examples=len(list_examples(case)),
            rows=whole_rows(best.first.rows, case.ask.rows),
        )
        return await self._said(case, await self._ran(case, proposal), talk)

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
        made = check_sql(proposal.sql, source.dialect, view.allowed, rows=case.ask.rows)
        if not case.ask.execute:
            return Ran(proposal, made)
        if proposal.rows is not None:
            return Ran(proposal, made, proposal.rows)
        try:
            return Ran(proposal, made, await fetch_rows(source, view, made, case.ask.rows, case.user))
        except QueryFailed as error:
            return Ran(proposal, made, error=str(error))

    async def _said(self, case: Case, ran: Ran, talk: Talk | None) -> Answer:
        words, more = None, tuple[str, ...]()
        if talk is not None and not talk.is_away and ran.rows is not None and ran.rows.rows and case.ask.verbose:
            words = await word_rows(talk, ran.rows, self._settings.suggestion_count, case.ask.on_text)
        if case.ask.verbose and self._settings.suggestions:
            more = words[1] if words else await self._further(case, ran.proposal)
        answer = spent_on(answer_of(case, ran, talk), talk)
        by_model = bool(words) or ran.proposal.way == "model"
        text = words[0] if words else answer.text
        return replace(answer, text=text, related=more, model=model_of(talk) if by_model else None)

    async def _further(self, case: Case, proposal: Proposal) -> tuple[str, ...]:
        # Interpreting takes some tens of milliseconds, in which others want to be served.
        return await asyncio.to_thread(further, case, proposal, self._settings.suggestion_count)

    async def _shared(self, scope: Scope, case: Case, answer: Answer) -> None:
        """What several users ask alike is proposed to the project, where that is switched on."""
        memory = case.memory
        is_own = memory is not None and memory.standalone == case.question and answer.way in ("frame", "model")
        if not self._settings.cross_user or not is_own or not answer.sql or answer.error:
            return
        try:
            await run_in_time(share(self, scope, answer.source, case.question, answer.sql))
        # The answer is there; that others asked alike must not fail it.
        except Exception as error:  # noqa: BLE001
            log_failure("a shared question could not be noted", error)


def find_reply(turns: Sequence[Turn], question: str) -> Mapping[str, Any]:
    """Return the data of the last reply to a question; empty if it was not asked in these turns."""
    wanted = normal(question)
    for asked, reply in reversed(list(pairwise(turns))):
        if normal(asked.text) == wanted and (reply.data or {}).get("host") == "sql":
            return reply.data or {}
    return {}


def rank_case(case: Case) -> tuple[int, float, bool]:
    """Return how well a source understands the question, the least being the best."""
    decision = case.interpretation.decision if case.interpretation else Decision("unclear")
    last = case.memory.last if case.memory else None
    is_other = not last or last.get("source") != case.shelf.kept.name
    return KINDS.index(decision.kind), -round(decision.confidence, 1), is_other
