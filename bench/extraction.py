"""`python -m bench extraction`: the rules that learn without a model, on labelled sentences: JSON lines, one each.

    {"text": ..., "role": "user", "facts": [{"category", "key", "value"}]}   or {"kind", "attribute", "value"}

`role` defaults to "user"; `facts` is empty for junk. A fact counts as found if the kind is equal and one value contains
the other, ignoring case; each fact is matched once. Equal keys are counted separately, and so is what is kept at all:
facts of which some kept text has the value, whatever its kind, and kept texts that have the value of a fact.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.evaluation import read_numbered_lines, share
from recollect.cli.options import Json
from recollect.cli.output import print_json, stdout_console
from recollect.cli.tables import format_counts, make_table
from recollect.errors import InvalidInput
from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.values.memory import Extraction, Fact, classify_fact
from recollect.values.text import is_cjk

COLUMNS = ("facts", "extracted", "found", "precision", "recall", "f1")
Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="JSON lines, one labelled sentence each.", exists=True, dir_okay=False),
]


def extraction(files: Files, json: Json = False) -> None:
    """Extract facts from the sentences of each file by rules alone, and count the correct ones. Stores nothing."""
    for path in files:
        result = evaluate(path).to_dict()
        if json:
            print_json({"file": str(path), **result})
        else:
            show(path, result)


def show(path: Path, result: Mapping[str, Any]) -> None:
    table = make_table("", *COLUMNS, title=str(path))
    for group in (result["by_category"], result["by_language"], {"all": result}):
        for name, values in group.items():
            table.add_row(name, *(f"{values[column]:.4g}" for column in COLUMNS))
        table.add_section()
    console = stdout_console()
    console.print(table)
    sentences = f"{result['sentences']} sentences, {result['junk']} of them junk"
    console.print(f"{sentences}; {result['ms_per_turn']:.2f} ms per turn", style="dim")
    rejected = format_counts(result["rejected"])
    console.print(
        f"kept in any kind: precision {result['kept_precision']:.3f}, recall {result['kept_recall']:.3f}", style="dim"
    )
    console.print(f"equal keys: {result['key_agreement']:.3f}; not remembered: {rejected}", style="dim")


@dataclass(frozen=True, slots=True)
class Labelled:
    text: str
    role: str
    facts: Sequence[Mapping[str, str]]

    @property
    def language(self) -> str:
        return "zh" if is_cjk(self.text) else "en"


@dataclass(slots=True)
class Tally:
    """Counts of expected facts, extracted facts, and expected facts that were extracted."""

    expected: int = 0
    made: int = 0
    found: int = 0

    def to_dict(self) -> dict[str, Any]:
        precision, recall = share(self.found, self.made), share(self.found, self.expected)
        return {
            "facts": self.expected,
            "extracted": self.made,
            "found": self.found,
            "precision": precision,
            "recall": recall,
            "f1": round(2 * precision * recall / max(precision + recall, 1e-9), 4),
        }


@dataclass(slots=True)
class Result:
    """Counts of one file. `missed` and `wrong` show why a score is low."""

    sentences: int = 0
    junk: int = 0
    same_key: int = 0
    seconds: float = 0.0
    kept: int = 0  # facts of which some text has the value
    true: int = 0  # texts that have the value of a fact
    all: Tally = field(default_factory=Tally)
    by_category: dict[str, Tally] = field(default_factory=dict)
    by_language: dict[str, Tally] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    wrong: list[tuple[str, Fact]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "sentences": self.sentences,
            "junk": self.junk,
            **self.all.to_dict(),
            "kept_precision": share(self.true, self.all.made),
            "kept_recall": share(self.kept, self.all.expected),
            "key_agreement": share(self.same_key, self.all.found),
            "ms_per_turn": round(self.seconds * 1000 / max(self.sentences, 1), 4),
            "by_category": {name: tally.to_dict() for name, tally in sorted(self.by_category.items())},
            "by_language": {name: tally.to_dict() for name, tally in sorted(self.by_language.items())},
            "rejected": dict(self.rejected.most_common()),
        }

    def count(self, sentence: Labelled, made: Extraction) -> None:
        pairs = match_facts(sentence.facts, made.facts)
        self.sentences += 1
        self.junk += not sentence.facts
        self.same_key += sum(sentence.facts[i]["key"] == made.facts[j].key for i, j in pairs)
        self.rejected.update(rejection.reason for rejection in made.rejected)
        self.kept += sum(any(has_value(want, fact) for fact in made.facts) for want in sentence.facts)
        self.true += sum(any(has_value(want, fact) for want in sentence.facts) for fact in made.facts)
        categories = [fact["category"] for fact in sentence.facts]
        self.tally(
            sentence.language, categories, [get_kind(fact) for fact in made.facts], [categories[i] for i, _ in pairs]
        )
        self.missed += [(sentence.text, f) for i, f in enumerate(sentence.facts) if i not in {i for i, _ in pairs}]
        self.wrong += [(sentence.text, f) for j, f in enumerate(made.facts) if j not in {j for _, j in pairs}]

    def tally(self, language: str, expected: Sequence[str], made: Sequence[str], found: Sequence[str]) -> None:
        for name, categories in (("expected", expected), ("made", made), ("found", found)):
            for category in categories:
                of_category = self.by_category.setdefault(category, Tally())
                for counted in (self.all, of_category, self.by_language.setdefault(language, Tally())):
                    setattr(counted, name, getattr(counted, name) + 1)


def evaluate(path: Path) -> Result:
    books, result = rulebooks(), Result()
    sentences = list(read_sentences(path))
    for sentence in sentences:  # before measuring: patterns are compiled when first needed
        extract(sentence.text, sentence.role, books)
    started = time.process_time()
    made = [extract(sentence.text, sentence.role, books) for sentence in sentences]
    result.seconds = time.process_time() - started
    for sentence, extraction in zip(sentences, made, strict=True):
        result.count(sentence, extraction)
    return result


def read_sentences(path: Path) -> Iterator[Labelled]:
    return (parse_sentence(path, number, line) for number, line in read_numbered_lines(path))


def parse_sentence(path: Path, number: int, line: str) -> Labelled:
    try:
        given = json.loads(line)
        facts = [
            {
                "category": str(fact.get("category") or fact["kind"]),
                "key": str(fact.get("key") or fact["attribute"]),
                "value": str(fact["value"]),
            }
            for fact in given["facts"]
        ]
        return Labelled(str(given["text"]), given.get("role") or "user", facts)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("file", f"{path}:{number} is not a sentence with text and facts: {error}") from None


def match_facts(expected: Sequence[Mapping[str, str]], made: Sequence[Fact]) -> list[tuple[int, int]]:
    """Return pairs of indexes, matched greedily one to one; pairs with equal keys come first."""
    pairs = [(i, j) for i, want in enumerate(expected) for j, fact in enumerate(made) if is_match(want, fact)]
    pairs.sort(key=lambda pair: expected[pair[0]]["key"] != made[pair[1]].key)
    taken: list[tuple[int, int]] = []
    for i, j in pairs:
        if not any(i == one or j == other for one, other in taken):
            taken.append((i, j))
    return taken


def is_match(want: Mapping[str, str], fact: Fact) -> bool:
    return want["category"] == get_kind(fact) and has_value(want, fact)


def get_kind(fact: Fact) -> str:
    kind, _ = classify_fact(fact)
    return "fact" if kind == "note" else kind


def has_value(want: Mapping[str, str], fact: Fact) -> bool:
    one, other = want["value"].casefold(), fact.value.casefold()
    return one in other or other in one
