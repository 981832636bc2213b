"""`recollect bench ask`: brings the SQL host to the bench: the sample database, an analyst with memory and without."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.doors.cli.paper import margin
from recollect.evals.chat_report import ChatReport
from recollect.hosts.sql.analyst import Analyst
from recollect.hosts.sql.asking import Ask as Question
from recollect.hosts.sql.sample import make_sample
from recollect.model.chat import Answer, Ask, MemoryUse
from recollect.model.scope import Scope
from recollect.settings import Settings

SOURCE = "bench"


@dataclass(frozen=True, slots=True)
class Asker:
    """An analyst as the bench knows hosts; what memory gave is the end of the session and its similar questions."""

    analyst: Analyst
    remembers: bool

    async def answer(self, scope: Scope, ask: Ask) -> Answer:
        asked = Question(question=ask.text, source=SOURCE, remembers=self.remembers)
        answer = await self.analyst.ask(scope, asked)
        given = ("memory",) if answer.memory else ()
        is_good = bool(answer.sql) and not answer.error
        use = MemoryUse(sources=given)
        return Answer(answer.text, scope.session or "", 0, use, error_stage=None if is_good else "retrieval")


async def measure_ask(settings: Settings, quick: bool) -> ChatReport:
    from recollect.evals.bench_ask import AskBench, run
    from recollect.wire import analysing, connect, find_server

    plain = replace(settings, model="", model_url="")
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(plain, worker=False))
        analyst = await stack.enter_async_context(analysing(memory, plain))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_sample(folder / "sample.db")
        bench = AskBench(memory, Asker(analyst, True), Asker(analyst, False), owner_dsn, margin().print)
        place = Scope("bench", project=bench.project)
        await analyst.library.add(place, SOURCE, f"sqlite:///{folder / 'sample.db'}")
        stack.push_async_callback(analyst.library.drop, place, SOURCE)
        return await run(bench, quick=quick)
