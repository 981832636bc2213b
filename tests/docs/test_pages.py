"""The documentation is whole: links lead somewhere, the settings' table is current, nothing foreign slipped in.

`RECOLLECT_WRITE_DOCS=1 pytest tests/docs` writes docs/reference/settings.md anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.flows.recall import MOST_CHAPTERS, MOST_EXACT, MOST_UNCOVERED
from recollect.recall.fuse import K1, TURNS, B, Weights
from recollect.recall.spelling import SIMILAR
from recollect.recall.word_lists import STOP_WORDS
from recollect.settings import Settings

from .pages import PAGES, ROOT, name

SETTINGS_PAGE = ROOT / "docs" / "reference" / "settings.md"
MARKER = "<!-- settings -->"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
FOREIGN = (
    *("/" + "work/", "/" + "root/", "/" + "tmp/", "/" + "home/", "pypi" + ".org", "files.pythonhosted" + ".org"),
    *("artifactory", "nexus" + ".", "registry" + ".npmjs", "shared/" + "design"),
)
UNFINISHED = ("TO" + "DO", "FIX" + "ME")  # as they are written; "todo" is a kind of memory


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), f"{name(page)} links to {target}, which is not there"
        if anchor and place.suffix == ".md":
            assert anchor[1:] in anchors(place), f"{name(page)} links to {target}{anchor}, which is not there"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_on_the_map() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target).resolve() for target, _ in LINK.findall(index.read_text(encoding="utf-8"))}
    missing = [name(page) for page in (ROOT / "docs").rglob("*.md") if page != index and page not in linked]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_foreign_is_named(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [word for word in FOREIGN if re.search(rf"(?<!\w){re.escape(word)}", text, re.IGNORECASE)] == []
    assert [word for word in UNFINISHED if word in text] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 80


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert [public for public in recollect.__all__ if f"`{public}" not in text] == []


def test_the_weights_and_limits_of_recall_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "reference" / "ranking.md").read_text(encoding="utf-8")
    told = {field: float(value) for field, value in re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", text, re.MULTILINE)}
    assert told == asdict(Weights())
    for sentence in (
        f"exact up to {MOST_EXACT:,} turns",
        f"runs of {TURNS} turns",
        f"the best {MOST_CHAPTERS} chapters",
        f"more than {MOST_UNCOVERED} turns lack one",
        f"similarity of {SIMILAR} or more",
        f"(k1 {K1}, b {B})",
        f"{len(STOP_WORDS)} stop words",
    ):
        assert sentence in " ".join(text.split()), sentence


def test_the_settings_page_is_current() -> None:
    before = SETTINGS_PAGE.read_text(encoding="utf-8")
    head, _, _ = before.partition(MARKER)
    current = f"{head}{MARKER}\n\n{settings_table()}"
    if os.environ.get("RECOLLECT_WRITE_DOCS"):
        SETTINGS_PAGE.write_text(current, encoding="utf-8")
    else:
        assert before == current, "write it anew with RECOLLECT_WRITE_DOCS=1 pytest tests/docs"


def settings_table() -> str:
    rows = ["| variable | field | default | range | meaning |", "|---|---|---|---|---|"]
    rows += [f"| {' | '.join(settings_row(f))} |" for f in fields(Settings)]
    return "\n".join(rows) + "\n"


def settings_row(f: Field[Any]) -> tuple[str, ...]:
    meta = f.metadata
    meaning = meta["meaning"] + (" (secret)" if meta["secret"] else "")
    bounds = shown_range(meta)
    return f"`{meta['env']}`", f"`{f.name}`", shown_default(f), bounds, meaning


def shown_default(f: Field[Any]) -> str:
    assert f.default is not MISSING
    match f.default:
        case bool() as flag:
            return "`1`" if flag else "`0`"
        case "":
            return "empty"
        case int() | float() as number:
            return f"`{number:g}`"
        case other:
            return f"`{other}`"


def shown_range(meta: Mapping[str, Any]) -> str:
    low, high = meta["low"], meta["high"]
    if "choices" in meta:
        return ", ".join(f"`{choice}`" for choice in meta["choices"])
    if low is None and high is None:
        return ""
    return f"{low:,g} and more" if high is None else f"{low:,g} to {high:,g}"
