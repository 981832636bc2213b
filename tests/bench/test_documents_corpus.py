"""A small corpus in all formats, made as the large one is: what answers is found, and opens where it is said to be."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench.documents import evaluate
from recollect import Engine

SCRIPTS = Path(__file__).parents[2] / "scripts"
LEAST = 0.85
# By file: where the fact stands, the fact, what is asked. The phrase is the fact's last word.
FACTS: dict[str, list[tuple[str, str, str]]] = {
    "bees.html": [
        ("The hive", "A hive holds a single queen and sixty thousand workers", "How many workers live in a hive?"),
        ("The harvest", "Honey is taken when the lime trees have ended, in July", "In which month is honey harvested?"),
        ("Illness", "Against mites the frames are treated with formic acid", "What helps against mites?"),
    ],
    "workshop.md": [
        ("Tyres", "Changing four tyres costs forty-eight euros", "What do I pay for changing tyres?"),
        ("Brakes", "Brake pads are worn out below three millimetres", "When are brake pads worn out?"),
        ("Opening", "The workshop is closed on every second Saturday", "On which day is the workshop closed?"),
    ],
    "library.txt": [
        ("Lending", "Books are lent for twenty-eight days", "For how many days can I borrow books?"),
        ("Fines", "A book that is late costs fifty cents", "What is the fine for a late book?"),
        ("Reading room", "Maps may only be seen in the basement", "Where can I look at maps?"),
    ],
    "telescope.pdf": [
        ("Mirror", "The main mirror is cleaned with distilled water", "What is the mirror cleaned with?"),
        ("Mount", "The mount is aligned to the star Polaris", "Which star is the mount aligned to?"),
        ("Camera", "The camera is cooled to minus twenty degrees", "How cold is the camera?"),
    ],
    "insurance.docx": [
        (
            "Damage by water",
            "Burst pipes are covered up to ninety thousand francs",
            "How much is paid for burst pipes?",
        ),
        ("Theft", "A stolen bicycle is reported to the police", "To whom do I report a stolen bicycle?"),
        ("Ending", "The contract is cancelled by letter in November", "When can the contract be cancelled?"),
    ],
    "baking.pptx": [
        ("Sourdough", "The starter is fed with flour made of rye", "What flour feeds the starter?"),
        ("Oven", "Bread is baked on a plate of granite", "What is the bread baked on?"),
        ("Cakes", "The cake is glazed with jam of apricots", "Which jam glazes the cake?"),
    ],
    "plants.csv": [
        ("Tomato", "is planted after the last frost, in the middle of May", "When are tomatoes planted?"),
        ("Rose", "is pruned at the beginning of March", "When is a rose pruned?"),
        ("Cactus", "is watered once in six weeks", "How often is a cactus watered?"),
    ],
    "rivers.xlsx": [
        ("Danube", "ends in the sea called Black", "Which sea does the Danube end in?"),
        ("Rhine", "rises at a lake named Toma", "At which lake does the Rhine rise?"),
        ("Loire", "is the longest river of France", "Of which country is the Loire the longest river?"),
    ],
}


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import documents_corpus

    return sys.modules[documents_corpus.__name__]


def page_of(name: str) -> str:
    """Every fact with so much around it that it has a passage of its own."""
    title, is_table = Path(name).stem, name.endswith((".csv", ".xlsx"))
    parts = [f"<dl><dt>{head}</dt><dd>{fact}. {around(title, head)}</dd></dl>" for head, fact, _ in FACTS[name]]
    if not is_table:
        parts = [
            f"<h2>{h}</h2><p>{around(title, h)}</p><p>{f}.</p><p>{around(title, h)}</p>" for h, f, _ in FACTS[name]
        ]
    return f"<html><body><h1>About {title}</h1>{''.join(parts)}</body></html>"


def around(title: str, head: str) -> str:
    said = f"The chapter on {head} was written by people who know {title}, and whoever reads it may ask them. "
    return said * 25


def plan_of(folder: Path) -> dict[str, Any]:
    files = []
    for name, facts in FACTS.items():
        (folder / f"{name}.page").write_text(page_of(name))
        files.append({"name": name, "package": "own", "page": f"{name}.page", "questions": questions(facts)})
    return {"files": files, "follow_ups": []}


def questions(facts: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"question": asked, "phrase": fact.rpartition(" ")[2]} for _, fact, asked in facts]


async def test_nearly_all_passages_are_found_and_every_one_opens_at_its_place(
    memory: Engine, corpus: ModuleType, tmp_path: Path
) -> None:
    path = corpus.made_corpus(plan_of(tmp_path), {"own": tmp_path}, tmp_path / "files")

    told = (await evaluate(memory, path)).to_dict()

    assert (told["files"], told["questions"]) == (8, 24)
    assert told["chunks"] >= 24
    assert told["recall@5"] >= LEAST, told["missed"]
    assert told["opened"] == 1.0


def test_the_questions_of_the_large_corpus_name_files_of_all_formats(corpus: ModuleType) -> None:
    plan = corpus.tomllib.loads(corpus.PLAN.read_text(encoding="utf-8"))
    lines = list(corpus.lines_of(plan))
    assert {Path(line["file"]).suffix for line in lines if "file" in line} == {".html", *corpus.WRITERS}
    assert all(set(line) in ({"question", "phrase", "file"}, {"first", "follow_up", "question"}) for line in lines)


def test_without_apt_one_sentence_says_so(
    corpus: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["documents_corpus.py", str(tmp_path / "corpus")])
    assert corpus.main() == 1
    assert capsys.readouterr().err == f"{corpus.NO_APT}\n"
