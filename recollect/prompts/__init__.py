"""Prompts: what we tell a language model, as prose in prose files. `{{name}}` is a place to be filled.

`prompt` fills a file's places; `marked` is how anything that others wrote goes into one: between marks that the text
itself cannot contain, so that it cannot end its own quotation, nor speak in another role.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
OPEN, CLOSE = "⟦", "⟧"
# Ours, and what the templates of chat models use to tell roles apart: <|im_end|>, </s>, <start_of_turn>, [INST].
FOREIGN_MARK = re.compile(rf"[{OPEN}{CLOSE}]|<(?=[|/!a-z][^<>\n]{{0,60}}>)|\[(?=/?INST\])", re.IGNORECASE)
HARMLESS = {OPEN: "(", CLOSE: ")", "<": "‹", "[": "("}


def prompt(name: str, **places: str) -> str:
    """The prompt of that name, its places filled; every place, and no other."""
    text = written(name)
    if (wanted := set(PLACE.findall(text))) != places.keys():
        raise TypeError(f"the prompt {name} has the places {sorted(wanted)}; given were {sorted(places)}")
    return PLACE.sub(lambda place: places[place[1]], text)


def marked(label: str, text: str) -> str:
    """The text as data."""
    return f"{OPEN}{label}{CLOSE}\n{harmless(text)}\n{OPEN}end{CLOSE}"


def harmless(text: str) -> str:
    return FOREIGN_MARK.sub(lambda found: HARMLESS[found[0]], text)


@cache
def written(name: str) -> str:
    return files("recollect.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
