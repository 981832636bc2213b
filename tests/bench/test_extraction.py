"""Extraction by rules, measured on the sentences that are shipped; docs/why/learning.md: what was tuned on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.extraction import Result, evaluate
from recollect.errors import InvalidInput

HERE = Path(__file__).parent
FILES = [HERE / "extraction_en.jsonl", HERE / "extraction_zh.jsonl"]


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("part", ["first", "second", "third"])
def test_few_wrong_and_most_found(path: Path, part: str, tmp_path: Path) -> None:
    chosen = tmp_path / path.name
    chosen.write_text("\n".join(line for line in lines(path) if json.loads(line)["part"] == part), encoding="utf-8")
    result = evaluate(chosen)
    assert result.to_dict()["kept_precision"] >= 0.9, result.wrong
    assert result.to_dict()["kept_recall"] >= 0.8, result.missed
    assert result.to_dict()["recall"] >= 0.6, result.missed


def test_the_set_is_large_and_mostly_hard() -> None:
    results = [evaluate(path) for path in FILES]
    sentences = sum(result.sentences for result in results)
    assert sentences >= 300
    assert sum(result.junk for result in results) >= 0.45 * sentences
    assert results[0].seconds / results[0].sentences < 0.003, "CPU seconds per turn"


def scored(tmp_path: Path, *sentences: dict[str, object]) -> Result:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, sentences)), encoding="utf-8")
    return evaluate(path)


def test_a_fact_counts_when_one_value_contains_the_other(tmp_path: Path) -> None:
    fact = {"category": "identity", "key": "first_name", "value": "ALEX MORGAN"}
    result = scored(tmp_path, {"text": "My name is Alex", "facts": [fact]})
    assert result.to_dict()["f1"] == 1.0
    assert result.to_dict()["key_agreement"] == 0.0


def test_each_fact_is_matched_once(tmp_path: Path) -> None:
    fact = {"category": "identity", "key": "name", "value": "Alex"}
    result = scored(tmp_path, {"text": "My name is Alex", "facts": [fact, fact]})
    assert (result.all.expected, result.all.made, result.all.found) == (2, 1, 1)
    assert result.missed == [("My name is Alex", fact)]


def test_junk_that_is_learned_costs_precision(tmp_path: Path) -> None:
    result = scored(tmp_path, {"text": "My name is Alex", "facts": []}, {"text": "hi", "facts": []})
    assert result.to_dict()["precision"] == 0.0
    assert result.rejected == {"small talk": 1}
    assert [fact.value for _, fact in result.wrong] == ["Alex"]


def test_what_the_assistant_says_is_not_learned(tmp_path: Path) -> None:
    result = scored(tmp_path, {"text": "My name is Alex", "role": "assistant", "facts": []})
    assert result.all.made == 0
    assert result.rejected == {"not the user": 1}


def test_a_line_that_is_no_sentence_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"set\.jsonl:2"):
        scored(tmp_path, {"text": "hi", "facts": []}, {"facts": []})
