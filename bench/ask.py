"""Measure asking a database without a model: `python -m bench.ask spider|defog|chinook|sample|clinic|flights|FOLDER`.

Reports right, wrong, asked and right in the end (answered right, or the right one among at most four choices), the
confidence against the accuracy, and CPU per question. Failures are shown for the databases in READ and for folders;
the others stay unread, and so do folders named heldout, closed or unread. Only unread databases may be used to fit the
confidence (`--fit`).

A folder has its databases as .sqlite, .sql or .sql.gz; questions.jsonl, one question a line: "db", "question",
"gold_sql" (empty if the question must not be answered), "gold_also", "ordered", "today"; and followups.jsonl, where a
line has "db" and "steps", a list of questions. A list of rows for which the question names no columns is judged by its
rows: all of their columns count as shown.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import importlib.util
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from recollect.apps.ask.candidates.proposals import ASKED_BACK
from recollect.apps.ask.candidates.suggested_meanings import find_vague_word, suggest_meanings
from recollect.apps.ask.gate import Allowed, check_sql
from recollect.apps.ask.interpret import (
    Candidate,
    Decision,
    FoundValue,
    Frame,
    Result,
    SchemaIndex,
    Vocabulary,
    Word,
    decide,
    link_question,
    propose,
    render_frame,
)  # fmt: skip
from recollect.apps.ask.interpret.decide import CHOICES
from recollect.apps.ask.interpret.frame import Ref
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.sources.address_rules import LOCAL_RULES
from recollect.apps.ask.sources.source import Source, open_source
from recollect.errors import QueryFailed, StatementDenied

# The evaluation sets are in a folder `shared` beside the repository, or further up.
SHARED = next(
    (folder / "shared" for folder in Path(__file__).resolve().parents[2:] if (folder / "shared/eval").is_dir()),
    Path("shared"),
)
READ = frozenset(
    ("flight_2", "network_1", "orchestra", "singer", "voter_1", "real_estate_properties", "derm_treatment", "broker",
     "scholar", "chinook", "sample", "clinic", "flights")
)  # fmt: skip
ROWS = 200
QUESTION_FILES = {
    name: Path(__file__).resolve().parents[1] / f"tests/bench/questions/{name}.toml"
    for name in ("chinook", "sample", "clinic", "flights")
}
FOLDERS = {"spider": "spider_dev10", "defog": "defog_dev"}
UNREAD_FOLDERS = ("heldout", "closed", "unread")


@dataclass(slots=True)
class Asked:
    """One question, what was decided, and which of the candidates are right."""

    db: str
    question: str
    decision: Decision
    candidates: list[Candidate]
    right: dict[str, bool] = field(default_factory=dict)
    cpu: float = 0.0
    gold: str = ""
    expects_choice: bool = False
    is_read: bool = True

    @property
    def first_right(self) -> bool:
        return bool(self.decision.candidates) and self.right.get(self.decision.candidates[0].id, False)

    @property
    def top_right(self) -> bool:
        return any(self.right.get(each.id, False) for each in self.decision.candidates[:4])

    @property
    def any_right(self) -> bool:
        return any(self.right.values())

    @property
    def reported(self) -> float:
        """The confidence that a user is told: a reading that is asked back has no high one."""
        found = self.decision.confidence
        return min(found, ASKED_BACK) if self.verdict == "asked" else found

    @property
    def verdict(self) -> str:
        if self.decision.kind in ("answer", "assume"):
            return "right" if self.first_right else "wrong"
        return "asked"


@dataclass(slots=True)
class Opened:
    source: Source
    catalog: Catalog
    index: SchemaIndex
    allowed: Allowed


async def open_database(path: Path) -> Opened:
    source = await open_source(f"sqlite:///{path}", rules=LOCAL_RULES)
    catalog = await source.read_catalog()
    index = SchemaIndex.build(draft_model(catalog), catalog)
    allowed = Allowed({table.name: [column.name for column in table.columns] for table in catalog.tables})
    return Opened(source, catalog, index, allowed)


async def interpret(
    opened: Opened, question: str, last: Frame | None = None, vocabulary: Vocabulary | None = None,
    today: date | None = None, is_last_sure: bool = True,
) -> tuple[Decision, list[Candidate], float]:  # fmt: skip
    """Link, propose, run and decide, as a host would."""
    began = time.process_time()
    link = partial(link_question, question, opened.index, vocabulary, today=today, last=last, is_last_sure=is_last_sure)
    linked = link()
    if linked.lookups and (found := await look_up(opened, linked.lookups)):
        linked = link(values=found)
    candidates = propose(linked)
    results = {candidate.id: await run(opened, candidate) for candidate in candidates}
    decision = decide(candidates, results)
    word, most = find_vague_word(decision, linked)
    if most:  # suggested meanings of a word take places among the choices
        meant = [each.candidate for each in suggest_meanings(word, decision.candidates[0].frame.subject, linked)][:most]
        decision = replace(decision, candidates=(*decision.candidates[: CHOICES - len(meant)], *meant))
        candidates += meant
    return decision, candidates, time.process_time() - began


async def look_up(opened: Opened, names: Sequence[str]) -> list[FoundValue]:
    places = [
        (table.name, column.name) for table in opened.catalog.tables for column in table.columns
        if column.type == "text" and not column.is_complete and not column.is_sensitive
    ]  # fmt: skip
    found = await opened.source.find_values(places, names) if places else []
    return [FoundValue(each.table, each.column, each.value) for each in found]


async def run(opened: Opened, candidate: Candidate) -> Result:
    try:
        checked = check_sql(candidate.sql, opened.catalog.dialect, opened.allowed, rows=ROWS)
        rows = await opened.source.run(checked.sql, rows=ROWS)
    except (StatementDenied, QueryFailed) as error:
        return Result(error=f"{type(error).__name__}: {error}")
    return Result(tuple(rows.rows), is_truncated=rows.is_truncated)


def find_folder(name: str) -> Path:
    return SHARED / "eval" / FOLDERS[name] if name in FOLDERS else Path(name).resolve()


def make_own_database(name: str, folder: Path) -> Path:
    """Return the path of a database that is made afresh for its questions."""
    from recollect.apps.ask.sample import make_sample
    from tests.bench.question_databases import make_clinic, make_flights

    path = folder / f"{name}.sqlite"
    if name == "sample":
        make_sample(path, date(2025, 12, 31))
    else:
        {"clinic": make_clinic, "flights": make_flights}[name](path)
    return path


def load_scorer() -> Any:
    spec = importlib.util.spec_from_file_location("ask_score", SHARED / "eval/ask_score.py")
    if spec is None or spec.loader is None:
        raise SystemExit("ask_score.py is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def measure_folder(folder: Path, only: Sequence[str]) -> list[Asked]:
    """Measure questions.jsonl, and the conversations of followups.jsonl if there are any."""
    scorer = load_scorer()
    chains = [(each["db"], [each]) for each in read_lines(folder / "questions.jsonl")]
    if (folder / "followups.jsonl").exists():
        chains += [(each["db"], each["steps"]) for each in read_lines(folder / "followups.jsonl")]
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as scratch:
        for db in dict.fromkeys(db for db, _ in chains):
            if only and db not in only:
                continue
            packed = folder / f"{db}.sql.gz"
            if packed.exists():
                (Path(scratch) / f"{db}.sql").write_bytes(gzip.decompress(packed.read_bytes()))
            con = scorer.connect(scratch if packed.exists() else folder, db)
            path = folder / f"{db}.sqlite"
            if not path.exists():
                path = Path(scratch) / f"{db}.sqlite"
                with sqlite3.connect(path) as target:
                    con.backup(target)
            judge = Judge(scorer, con, [each for each in (con, scorer.trimmed(con)) if each], is_read(folder, db))
            opened = await open_database(path)
            for name, chain in chains:
                if name == db:
                    asked += await ask_chain(opened, db, chain, judge)
            await opened.source.close()
    return asked


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells which candidates have the rows of a gold query."""

    scorer: Any
    con: sqlite3.Connection
    sources: Sequence[sqlite3.Connection]
    is_read: bool

    def find_right(
        self, question: Mapping[str, Any], candidates: Sequence[Candidate], index: SchemaIndex
    ) -> dict[str, bool]:
        if not question["gold_sql"]:
            return {}
        golds = [question["gold_sql"], *question.get("gold_also", [])]
        allowed = self.scorer.allowed(self.sources, golds, question.get("ordered", True))
        return {
            each.id: is_right(self.scorer, self.con, allowed, each.sql)
            or is_right(self.scorer, self.con, allowed, list_whole_rows(each, index))
            for each in candidates
        }


def list_whole_rows(candidate: Candidate, index: SchemaIndex) -> str:
    """Return the statement with all columns of a list whose columns nobody named: its rows are what is judged."""
    frame = candidate.frame
    if frame.metrics or frame.columns or frame.groups:
        return candidate.sql
    columns = index.tables[frame.subject].columns
    return render_frame(replace(frame, columns=tuple(Ref(frame.subject, name) for name in columns)), index)


async def ask_chain(opened: Opened, db: str, chain: Sequence[Mapping[str, Any]], judge: Judge) -> list[Asked]:
    """Ask the questions of a conversation one after the other."""
    asked: list[Asked] = []
    last, is_sure = None, True
    for each in chain:
        today = date.fromisoformat(each["today"]) if each.get("today") else None
        decision, candidates, cpu = await interpret(opened, each["question"], last, today=today, is_last_sure=is_sure)
        right, gold = judge.find_right(each, candidates, opened.index), each["gold_sql"] or "(must not be answered)"
        made = Asked(db, each["question"], decision, candidates, right, cpu, gold, not each["gold_sql"], judge.is_read)
        asked.append(made)
        last, is_sure = next_frame(made, last), made.top_right or made.decision.kind in ("answer", "assume")
    return asked


def next_frame(asked: Asked, last: Frame | None) -> Frame | None:
    """Return what the conversation goes on from: the choice that a user would take, or the best interpretation."""
    chosen = [each for each in asked.decision.candidates if asked.right.get(each.id)]
    return next((each.frame for each in (*chosen, *asked.decision.candidates[:1])), last)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def is_read(folder: Path, db: str) -> bool:
    """Whether the failures of a database may be shown."""
    if folder in [find_folder(name) for name in FOLDERS]:
        return db in READ
    return not any(part.startswith(UNREAD_FOLDERS) or part.endswith(UNREAD_FOLDERS) for part in folder.parts)


def is_right(scorer: Any, con: sqlite3.Connection, golds: Any, sql: str) -> bool:
    try:
        return bool(scorer.judge(golds, scorer.run(con, sql))[0] == "right")
    except sqlite3.Error:
        return False


async def measure_toml(file: Path, database: Path) -> list[Asked]:
    """Measure a question file of `python -m bench questions`, follow-ups included."""
    from bench.question_file import read_questions
    from bench.questions import Outcome, judge
    from bench.questions import open_database as open_gold

    questions = read_questions(file)
    opened = await open_database(database)
    asked: list[Asked] = []
    with open_gold(database) as con:
        for chain in questions.chains:
            last: Frame | None = None
            for each in chain:
                words = tuple(Word(k.names, "project", k.means, k.table, k.condition) for k in each.known)
                decision, candidates, cpu = await interpret(opened, each.ask, last, Vocabulary(words), questions.today)
                right = {c.id: judge(each, Outcome(c.sql), con)[0] == "right" for c in candidates} if each.gold else {}
                gold = (each.gold or ("(should ask)",))[0]
                made = Asked(file.stem, each.ask, decision, candidates, right, cpu, gold, not each.gold)
                asked.append(made)
                last = next_frame(made, last)
    await opened.source.close()
    return asked


def report(asked: Sequence[Asked], show: bool) -> None:
    write = sys.stdout.write
    write(f"{'':26}{'n':>5}{'right':>7}{'wrong':>7}{'asked':>7}{'in end':>8}{'first':>7}{'top 4':>7}{'any':>6}\n")
    names = dict.fromkeys(each.db for each in asked)
    rows = [(name, [a for a in asked if a.db == name and a.is_read]) for name in names]
    rows += [("read", [a for a in asked if a.is_read]), ("unread", [a for a in asked if not a.is_read])]
    for name, part in [*rows, ("all", list(asked))]:
        if part:
            write(report_row(name, part))
    reliability(asked)
    cpu = sum(each.cpu for each in asked) / max(len(asked), 1)
    write(f"CPU {1000 * cpu:.1f} ms a question\n")
    if show:
        for each in asked:
            if each.is_read and each.verdict != "right":
                show_failure(each)


def report_row(name: str, part: Sequence[Asked]) -> str:
    right = sum(each.verdict == "right" or (each.expects_choice and each.verdict == "asked") for each in part)
    wrong = sum(each.verdict == "wrong" for each in part)
    asked = [each for each in part if each.verdict == "asked"]
    end = sum(each.verdict == "right" for each in part) + sum(each.top_right or each.expects_choice for each in asked)
    counts = [len(part), right, wrong, len(part) - right - wrong, end]
    counts += [sum(e.first_right for e in part), sum(e.top_right for e in part), sum(e.any_right for e in part)]
    shares = f"   right {100 * right / len(part):.0f} %, wrong {100 * wrong / len(part):.1f} %"
    shares += f", in the end {100 * end / len(part):.0f} %"
    return (
        f"{name:26}"
        + "".join(f"{n:{w}}" for n, w in zip(counts, (5, 7, 7, 7, 8, 7, 7, 6), strict=True))
        + shares
        + "\n"
    )


def reliability(asked: Sequence[Asked]) -> None:
    for name, part in (
        ("read", [a for a in asked if a.is_read]),
        ("unread", [a for a in asked if not a.is_read]),
    ):
        cells = []
        for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
            inside = [a for a in part if low <= a.reported < high and not a.expects_choice]
            if inside:
                cells.append(f"{low:.1f}-{min(high, 1):.1f}: {sum(a.first_right for a in inside)}/{len(inside)}")
        if cells:
            sys.stdout.write(f"confidence, {name}: {', '.join(cells)}\n")


def show_failure(each: Asked) -> None:
    place = next((n for n, c in enumerate(each.decision.candidates) if each.right.get(c.id)), None)
    where = "among choices" if place is not None else "a candidate" if each.any_right else "nowhere"
    write = sys.stdout.write
    write(f"\n[{each.db}] {each.verdict} {each.decision.confidence:.2f} right one: {where}\n")
    write(f"  {each.question}\n  gold {each.gold}\n")
    best = each.decision.candidates[:1]
    chosen = [c for c in each.decision.candidates if each.right.get(c.id)][:1]
    for name, candidate in [*(("best", c) for c in best), *(("good", c) for c in chosen if c not in best)]:
        write(f"  {name} {candidate.score:.1f} {candidate.sql}\n")
        write(f"       {' '.join(f'{n}={v:g}' for n, v in candidate.features)}\n")
        write(f"       skipped {candidate.unexplained}\n")


POSITIVE, FREE = frozenset(("margin", "support")), frozenset(("bias", "conditions", "alone"))


def fit(asked: Sequence[Asked]) -> None:
    """Fit the confidence on the unread databases, and show how it does on databases left out of the fit."""
    import numpy as np

    part = [a for a in asked if not a.is_read and a.decision.signals]
    names = ["bias", *(part[0].decision.signals or {})]
    x = np.array([[1.0, *((a.decision.signals or {})[name] for name in names[1:])] for a in part])
    y = np.array([float(a.first_right) for a in part])
    groups = np.array([a.db for a in part])
    predicted = np.zeros(len(part))
    for db in dict.fromkeys(groups):
        weights = regress(x[groups != db], y[groups != db], names)
        predicted[groups == db] = 1 / (1 + np.exp(-x[groups == db] @ weights))
    clear = np.array([not a.decision.signals["unexplained"] and not a.decision.signals["guesses"] for a in part])  # type: ignore[index]
    for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1)):
        inside = (predicted >= low) & (predicted < high)
        sys.stdout.write(f"left out: {low}-{high}: {int(y[inside].sum())}/{int(inside.sum())}\n")
    for bar in (0.8, 0.85, 0.9, 0.92, 0.95):
        for name, able in (("all", clear | True), ("clear", clear)):
            inside = (predicted >= bar) & able
            right, total = int(y[inside].sum()), int(inside.sum())
            sys.stdout.write(f"left out, {name} >= {bar}: right {right}, wrong {total - right} of {len(part)}\n")
    made = {name: round(float(w), 3) for name, w in zip(names, regress(x, y, names), strict=True)}
    sys.stdout.write(f"CALIBRATION = {made}\n")


def regress(x: Any, y: Any, names: Sequence[str]) -> Any:
    """Logistic regression with fixed signs and a small penalty."""
    import numpy as np

    weights = np.zeros(x.shape[1])
    lower = np.array([-np.inf if n in FREE or n not in POSITIVE else 0.0 for n in names])
    upper = np.array([np.inf if n in FREE or n in POSITIVE else 0.0 for n in names])
    penalty = np.array([0.0 if n == "bias" else 0.005 for n in names])
    for _ in range(15_000):
        p = 1 / (1 + np.exp(-x @ weights))
        weights = np.clip(weights + 0.1 * (x.T @ (y - p) / len(y) - penalty * weights), lower, upper)
    return weights


async def measure_set(name: str, only: Sequence[str], scratch: Path) -> list[Asked]:
    if name in FOLDERS or (name not in QUESTION_FILES and "=" not in name):
        return await measure_folder(find_folder(name), only)
    if name == "chinook":
        return await measure_toml(QUESTION_FILES[name], SHARED / "data/chinook.sqlite")
    if name in QUESTION_FILES:
        return await measure_toml(QUESTION_FILES[name], make_own_database(name, scratch))
    file, _, database = name.partition("=")
    return await measure_toml(Path(file), Path(database))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sets",
        nargs="+",
        help="spider, defog, chinook, sample, clinic, flights, a folder, or FILE.toml=DATABASE.sqlite",
    )
    parser.add_argument("--db", nargs="*", default=[])
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--fit", action="store_true")
    args = parser.parse_args()
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as scratch:
        for each in args.sets:
            asked += asyncio.run(measure_set(each, args.db, Path(scratch)))
    report(asked, args.failures)
    if args.fit:
        fit(asked)


if __name__ == "__main__":
    main()
