"""The analyst answers questions to databases: it reads memory, finds a way to an answer, checks and runs its SQL, and
records the question with its answer.

    read memory -> propose (choice, repeat, pattern, model, interpretation; or ask back) -> check -> run -> word ->
    record

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

from recollect.apps.ask.answers.answer_log import add_model, add_tables, record_answer, word_answer
from recollect.apps.ask.candidates.choices import Offers, pick_choice
from recollect.apps.ask.candidates.interpretation import Interpretation, interpret_question
from recollect.apps.ask.candidates.proposals import (
    propose_choice,
    propose_interpretation,
    propose_vetted,
    suggest_questions,
)
from recollect.apps.ask.gate import CheckedSql, check_sql
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret.definitions import is_question
from recollect.apps.ask.llm.agreement import collect_votes, offer_groups, propose_agreement
from recollect.apps.ask.llm.model_run import ModelRun, find_examples, word_rows, word_schema
from recollect.apps.ask.llm.schema_prompt import choose_tables, describe_database, fetch_samples, is_about_metadata
from recollect.apps.ask.memories.instructions import follow_instruction
from recollect.apps.ask.memories.patterns import normalize_question
from recollect.apps.ask.memories.reader import (
    MemoryReader,
    QuestionMemory,
    add_session_meanings,
    list_replies,
    restrict_memory,
    resume_context,
    try_memory,
)
from recollect.apps.ask.memories.vocabulary import OPENER, build_vocabulary
from recollect.apps.ask.question import (
    Answer,
    Ask,
    Choice,
    Clarification,
    SessionContext,
    get_data,
    list_offered,
    read_clarifications,
)
from recollect.apps.ask.source_registry import OpenSource, SourceRegistry, fetch_rows, narrow_view
from recollect.apps.ask.sources.address_rules import SourceRules
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.teaching import (
    find_taught_meaning,
    learn_choice,
    learn_meaning,
    propose_shared_question,
)
from recollect.apps.ask.words import stem_phrase
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
MAX_MODELS = 20  # that requests may name
WITHOUT_MEMORY = "answered without memory"
KINDS = ("answer", "assume", "choices", "unclear")  # of decisions, best first
OFFER_TURNS = 200  # of a session in which a clarification is looked for
LATEST_SESSIONS, LATEST_TURNS = 3, 20  # sessions, and turns of each, in which a question is looked for


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
        self.sources = SourceRegistry(engine, settings, rules)
        self.reader = MemoryReader(engine, settings)
        self._settings = settings
        self._reasoner = reasoner
        self._other_model = other_model
        self._others: dict[str, Reasoner] = {}
        self._offers = Offers()
        self.today = today

    async def answer(self, scope: Scope, ask: Ask, mode: str = "default") -> Answer:
        """Answer as `ask` does; a question about the database itself is answered from its catalog."""
        if mode == "metadata" or (mode == "default" and is_about_metadata(ask.question)):
            return await self._answer_with(scope, ask, self._describe_database)
        return await self.ask(scope, ask)

    async def ask(self, scope: Scope, ask: Ask) -> Answer:
        """Return an answer, or what has to be known first. Without a session in the scope a new one begins. A message
        that says what a word means is learned."""
        return await self._answer_with(scope, ask, self._answer_message)

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
        turns = await self.engine.history(scope, limit=OFFER_TURNS) if scope.session else []
        for data in list_replies(turns):
            for offered in read_clarifications(data) if data.get("host") == "sql" else ():
                if offered.id == clarification:
                    return data["source"], offered
        raise NotFound(f"there is no clarification {clarification!r}; ask the question again")

    async def teach(self, scope: Scope, ask: Ask, term: str, meaning: str, *, may_share: bool = True) -> Answer:
        """Learn what a term means, without a question to answer."""
        learned = await learn_meaning(self, scope, ask.source, term, meaning, "", may_share=may_share)
        text = f'Saved: "{learned.term}" means {learned.meaning}'
        return Answer("", text, source=ask.source or "", learned=(learned,))

    async def clarify(self, scope: Scope, ask: Ask, term: str, reply: str, *, may_share: bool = True) -> Answer:
        """Answer a question again, given what a term in it means. A reply that is one of the offered choices is
        answered as such; any other is learned first."""
        place, data = await self._find_question(scope, ask)
        source, choices = data.get("source", ask.source), list_offered(data)
        if not data:  # nothing is stored: the question is interpreted once more
            inquiry = await self._prepare(scope, replace(ask, remembers=False))
            offered = propose_interpretation(inquiry, await self._interpret(inquiry)).clarifications
            choices = tuple(choice for each in offered for choice in each.choices)
        choice = pick_choice(reply, choices)
        if choice is not None:
            return await self.ask(place, replace(ask, question=choice.label, source=source, choice=choice))
        learned = await learn_meaning(self, place, ask.source, term, reply, ask.question, may_share=may_share)
        return await self.ask(place, replace(ask, learned=(learned,)))

    async def _find_question(self, scope: Scope, ask: Ask) -> tuple[Scope, Mapping[str, Any]]:
        """Return the session in which the user asked this question last, and the data of the reply. Without such a
        session, return the scope unchanged and no data."""
        if not (ask.remembers and self._settings.enabled):
            return scope, {}
        sessions = [scope.session] if scope.session else []
        if not sessions:
            sessions = [talk.session for talk in await self.engine.conversations(scope, limit=LATEST_SESSIONS)]
        for session in sessions:
            place = replace(scope, session=session)
            if data := find_reply(await self.engine.history(place, limit=LATEST_TURNS), ask.question):
                return place, data
        return scope, {}

    async def check_sql(
        self, scope: Scope, source: str, role: str, sql: str, rows: int = 100
    ) -> tuple[OpenSource, CheckedSql]:
        """Return the source and the statement that the gate makes of some SQL, as this role may write it."""
        found = await self.sources.find(scope, source)
        return found, check_sql(sql, found.dialect, found.view(role).allowed, rows=rows)

    async def run(self, scope: Scope, source: str, role: str, sql: str, rows: int = 100) -> tuple[CheckedSql, Rows]:
        """Return the checked statement and its rows, for SQL that somebody gives."""
        found, statement = await self.check_sql(scope, source, role, sql, rows)
        return statement, await fetch_rows(found.connection, found.view(role), sql, rows, scope.user)

    async def close(self) -> None:
        await self.sources.close()
        for reasoner in self._others.values():
            await reasoner.close()

    def mask(self, text: str) -> str:
        """Return a text as it may be stored, before anything is derived from it: where the setting says so, without
        sensitive data. What is masked cannot be looked up in the database either."""
        return mask_text(text) if self._settings.mask_sensitive else text

    # How a question is answered ---------------------------------------------------------------------------------------

    async def _answer_with(self, scope: Scope, ask: Ask, work: Callable[[Scope, Inquiry], Awaitable[Answer]]) -> Answer:
        """Read what is known, let `work` answer, record the answer."""
        began = time.perf_counter()
        with self.engine.runtime.deadline() as limit:
            if ask.remembers:
                ask = replace(ask, question=self.mask(ask.question)[:MAX_QUERY_CHARS])
                scope = await self.reader.find_session(scope)
            inquiry = await self._prepare(scope, ask)
            answer = add_tables(inquiry, await work(scope, inquiry))
            spent = replace(answer.spent, memory=inquiry.memory.seconds, whole=time.perf_counter() - began)
            answer = replace(answer, spent=spent, learned=(*ask.learned, *answer.learned))
            if ask.remembers:
                recording = record_answer(self.reader, scope, inquiry, answer)
                answer = await try_memory("an answer could not be recorded", recording, answer)
            if self._settings.cross_user:
                sharing = propose_shared_question(self, scope, inquiry, answer)
                await try_memory("a shared question could not be noted", sharing, None)
        self._offers.keep(scope, answer.source, answer.clarifications)
        if not limit.problem:
            return answer
        return replace(answer, memory=None, notes=(*answer.notes, f"{WITHOUT_MEMORY}: {limit.problem}"))

    async def _prepare(self, scope: Scope, ask: Ask) -> Inquiry:
        """Return the question at the source that understands it best, with what memory has for it there."""
        memory = QuestionMemory(ask.question)
        if ask.remembers and self._settings.enabled:
            memory = await try_memory("memory could not be read", self.reader.read(scope, ask), memory)
        ask = resume_context(ask, memory)
        found = memory.resolutions if memory.is_read else await self.reader.resolve_without_user(scope, ask.question)
        words = add_session_meanings(memory.standalone, ask.context, found)
        approved = await self.reader.read_approved(scope)
        await self.reader.keep_glossary(scope)
        inquiries, refused = list[Inquiry](), list[NotFound]()
        for source in await self.sources.choose(scope, ask.source, ask.sources, ask.views):
            try:
                inquiries.append(self._prepare_at(scope, source, ask, memory, words, approved))
            except NotFound as error:
                refused.append(error)
        if not inquiries:
            raise refused[0]
        return inquiries[0] if len(inquiries) == 1 else await self._choose_source(inquiries)

    async def _choose_source(self, inquiries: Sequence[Inquiry]) -> Inquiry:
        """Return the question at the source that answers it best: by a choice or a vetted statement, else by its
        interpretation there. Among equals the last source used wins."""
        for inquiry in inquiries:
            if inquiry.choice is not None or propose_vetted(inquiry):
                return inquiry
        read = [(each, await self._interpret(each)) for each in inquiries]

        def rank(pair: tuple[Inquiry, Interpretation]) -> tuple[int, float, bool]:
            inquiry, decision = pair[0], pair[1].decision
            is_other = inquiry.memory.last_reply.get("source") != inquiry.source.name
            return KINDS.index(decision.kind), -round(decision.confidence, 1), is_other

        best, interpretation = min(read, key=rank)
        return replace(best, interpretation=interpretation)

    def _prepare_at(
        self,
        scope: Scope,
        source: OpenSource,
        ask: Ask,
        memory: QuestionMemory,
        words: Sequence[Resolution],
        approved: tuple[Memory, ...],
    ) -> Inquiry:
        """Return the question with what is known about it at one source."""
        view = narrow_view(source.view(ask.role), source.name, ask)
        context = ask.context or SessionContext()
        taught = build_vocabulary(ask.question, words, memory.preferences, context, view.index, self.today())
        choice, offer = ask.choice, memory.last_reply
        if choice is None and offer.get("source") == source.name and not offer.get("sql"):
            choice = pick_choice(ask.question, list_offered(offer))
        memory = restrict_memory(memory, source.name, view, self._settings.context_tokens)
        return Inquiry(ask, source, view, taught, approved, memory, self.today(), scope.user, scope.session, choice)

    async def _interpret(self, inquiry: Inquiry) -> Interpretation:
        return inquiry.interpretation or await interpret_question(
            inquiry.source.connection, inquiry.view, inquiry.question, inquiry.taught.vocabulary,
            last=inquiry.last_frame, today=inquiry.today, user=inquiry.user, is_last_sure=inquiry.is_last_sure,
        )  # fmt: skip

    async def _describe_database(self, scope: Scope, inquiry: Inquiry) -> Answer:
        """Say what the database contains, as far as this role may see it."""
        text = describe_database(inquiry.view, inquiry.question, markdown=inquiry.ask.markdown)
        answer = word_answer(inquiry, inquiry.begin(text=text))
        model = await self._open_model(inquiry) if inquiry.ask.verbose else None
        if model is not None:
            answer = await word_schema(model, answer, self._settings.suggestion_count)
        return add_model(answer, model)

    async def _answer_message(self, scope: Scope, inquiry: Inquiry) -> Answer:
        """Answer a message of a conversation: a choice that was offered, an instruction, a meaning that is taught, or
        a question."""
        if inquiry.choice is not None:
            return await self._answer_choice(scope, inquiry, inquiry.choice)
        if not self._may_learn(inquiry.ask):
            return await self._answer_question(scope, inquiry)
        if done := await follow_instruction(self, scope, inquiry):
            return word_answer(inquiry, inquiry.begin(text=done[0], learned=done[1]))
        return await self._answer_definition(scope, inquiry) or await self._answer_question(scope, inquiry)

    def _may_learn(self, ask: Ask) -> bool:
        return ask.remembers and ask.learns and self._settings.enabled

    async def _answer_choice(self, scope: Scope, inquiry: Inquiry, choice: Choice) -> Answer:
        """Answer an offered choice, and learn what choosing it teaches."""
        answer = await self._finish(inquiry, propose_choice(inquiry, choice))
        if not self._may_learn(inquiry.ask) or answer.error:
            return answer
        work = learn_choice(self, scope, inquiry, choice, answer.sql)
        return replace(answer, learned=await try_memory("a choice could not be learned", work, ()))

    async def _answer_definition(self, scope: Scope, inquiry: Inquiry) -> Answer | None:
        """Learn what the message says that a word means; None if it says something else. If a question was asked back
        because of that word, it is answered."""
        question, term = find_open_question(inquiry)
        taught = find_taught_meaning(inquiry)
        if taught is None and term and await self._is_meaning(scope, inquiry, question, term):
            taught = term, inquiry.question
        if taught is None:
            return None
        learned = await learn_meaning(self, scope, inquiry.source.name, *taught, question, may_share=False)
        if stem_phrase(taught[0]) == stem_phrase(term):
            again = replace(inquiry.ask, question=question, source=inquiry.source.name)
            answer = await self._answer_question(scope, await self._prepare(scope, again))
        else:
            text = f'Saved for you: "{learned.term}" means {learned.meaning}.'
            text += f' It replaces "{learned.replaces}".' if learned.replaces else ""
            answer = word_answer(inquiry, inquiry.begin(text=text))
        return replace(answer, learned=(learned, *answer.learned))

    async def _is_meaning(self, scope: Scope, inquiry: Inquiry, question: str, term: str) -> bool:
        """Return whether a message says what the term of the open question means: it begins like one ("I mean ..."), or
        is neither a clear question nor a change of the last one, and the open question is clear if the term means
        that."""
        if is_question(inquiry.question):
            return False
        if not OPENER.match(inquiry.question):
            alone = (await self._interpret(inquiry)).decision
            is_change = alone.kind == "assume" and bool(alone.candidates[0].changed) and not alone.unexplained
            if alone.kind == "answer" or is_change:
                return False
        context = inquiry.ask.context or SessionContext()
        context = replace(context, definitions={**context.definitions, term: inquiry.question})
        trial = replace(inquiry.ask, question=question, source=inquiry.source.name, context=context)
        found = await self._interpret(await self._prepare(scope, trial))
        return found.decision.kind in ("answer", "assume")

    async def _answer_question(self, scope: Scope, inquiry: Inquiry) -> Answer:
        """Answer by a vetted statement, by the model, or by rules."""
        if vetted := await self._answer_vetted(scope, inquiry):
            return vetted
        model = await self._open_model(inquiry)
        inquiry = replace(inquiry, interpretation=await self._interpret(inquiry))
        answer = await self._answer_by_model(inquiry, model) if model else None
        if answer is None:
            answer = await self._answer_by_rules(inquiry, model)
        if not answer.sql and model and model.failed:
            return add_model(word_answer(inquiry, model.failed), model)
        return answer

    async def _answer_vetted(self, scope: Scope, inquiry: Inquiry) -> Answer | None:
        """Answer by a statement that a person stands for. One that was ended, is no longer allowed or no longer runs is
        not used."""
        for begun in propose_vetted(inquiry):
            approved = [each for each in inquiry.approved if each.id in begun.used]
            if approved and not await self.reader.is_current(scope, approved[0]):
                continue
            try:
                answer = await self._finish(inquiry, begun)
            except InvalidInput as denied:
                log.info("a vetted query was not used: %s", denied)
                continue
            if not answer.error:
                return answer
        return None

    async def _answer_by_rules(self, inquiry: Inquiry, model: ModelRun | None) -> Answer:
        begun = propose_interpretation(inquiry, await self._interpret(inquiry))
        is_open = bool(begun.clarifications) and begun.confidence < self._settings.clarify_below
        if not begun.sql or (inquiry.ask.clarify and is_open):
            return self._reply(inquiry, begun, model)
        try:
            return await self._finish(inquiry, replace(begun, clarifications=()), model)
        except InvalidInput as denied:
            return self._reply(inquiry, replace(begun, text=str(denied)), model)

    async def _answer_by_model(self, inquiry: Inquiry, model: ModelRun) -> Answer | None:
        """Return the answer that most statements of the model and the rules agree on; None if the model gave none."""
        model.inquiry, ask, view = inquiry, inquiry.ask, inquiry.view
        tables = choose_tables(view, inquiry.question, ask.schema)
        await fetch_samples(inquiry.source.connection, view, tables, inquiry.user)
        model.examples = await find_examples(self.reader, inquiry)
        groups = await collect_votes(model, ask.samples or self._settings.model_samples)
        if not groups:
            return None
        begun = propose_agreement(inquiry, groups, examples=len(model.examples))
        if ask.clarify and len(groups) > 1 and begun.confidence < self._settings.clarify_below:
            return self._reply(inquiry, replace(begun, clarifications=(offer_groups(groups, inquiry),)), model)
        return await self._finish(inquiry, begun, model)

    async def _open_model(self, inquiry: Inquiry) -> ModelRun | None:
        """Return the configured model for this question, or another at the same server if the question names one."""
        if self._reasoner is None or not inquiry.ask.by_model:
            return None
        reasoner = self._find_reasoner(self._reasoner, inquiry.ask.model)
        try:
            window = await reasoner.window() if isinstance(reasoner, WindowedReasoner) else 0
        except ReasonerFailed:
            window = 0
        return ModelRun(reasoner, inquiry, window, time.perf_counter() + self._settings.model_timeout)

    def _find_reasoner(self, usual: Reasoner, wanted: str) -> Reasoner:
        if not wanted or wanted == usual.name or self._other_model is None:
            return usual
        if wanted not in self._others and len(self._others) < MAX_MODELS and (made := self._other_model(wanted)):
            self._others[wanted] = made
        return self._others.get(wanted, usual)

    def _reply(self, inquiry: Inquiry, begun: Answer, model: ModelRun | None) -> Answer:
        """Return a question back, or why there is no answer."""
        bare = replace(begun, sql="", explanation="", frame=None, rows=None)
        return replace(add_model(word_answer(inquiry, bare), model), way=None)

    async def _finish(self, inquiry: Inquiry, begun: Answer, model: ModelRun | None = None) -> Answer:
        """Check and run the statement of an answer, and put the answer in words: the model's where there is one and
        there are rows, with what to ask next. Raises InvalidInput if the gate refuses the statement."""
        answer = word_answer(inquiry, await self._run_statement(inquiry, begun))
        if not inquiry.ask.verbose:
            return add_model(answer, model)
        count = self._settings.suggestion_count if self._settings.suggestions else 0
        if model is not None:
            answer = await word_rows(model, answer, count)
        if count and answer.model is None:
            # Interpreting takes some tens of milliseconds, in which others want to be served.
            answer = replace(answer, related=await asyncio.to_thread(suggest_questions, inquiry, answer, count))
        return add_model(answer, model)

    async def _run_statement(self, inquiry: Inquiry, begun: Answer) -> Answer:
        source, view, most = inquiry.source, inquiry.view, inquiry.ask.rows
        statement = check_sql(begun.sql, source.dialect, view.allowed, rows=most)
        answer = replace(begun, sql=statement.sql, full_sql=statement.full_sql, tables=statement.tables)
        if not inquiry.ask.execute:
            return replace(answer, rows=None)
        if answer.rows is not None:
            return answer
        try:
            return replace(answer, rows=await fetch_rows(source.connection, view, begun.sql, most, inquiry.user))
        except QueryFailed as error:
            return replace(answer, error=str(error))


def find_reply(turns: Sequence[Turn], question: str) -> Mapping[str, Any]:
    """Return the data of the last reply to a question; empty if it was not asked in these turns."""
    wanted = normalize_question(question)
    for asked, reply in reversed(list(pairwise(turns))):
        if normalize_question(asked.text) == wanted and get_data(reply).get("host") == "sql":
            return get_data(reply)
    return {}


def find_open_question(inquiry: Inquiry) -> tuple[str, str]:
    """Return the question that was asked back last in the session, and the word that was not known; else empty."""
    turns = inquiry.memory.turns[-2:]
    data = get_data(turns[-1]) if len(turns) == 2 else {}
    if data.get("source") != inquiry.source.name or data.get("sql"):
        return "", ""
    unknown = (each.term for each in read_clarifications(data) if each.category != "ambiguous")
    return turns[0].text, next(unknown, "")
