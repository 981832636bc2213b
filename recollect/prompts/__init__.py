"""Prompts for language models, one Markdown file each, with placeholders of the form `{{name}}`.

`render_prompt` fills a file. Text that others wrote goes into a prompt only through `mark_data`: between marks that the
text itself cannot contain, so that it cannot end its own quotation or speak in another role.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from recollect.ports import Message

PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
OPEN, CLOSE = "⟦", "⟧"
# Our marks, and those that the templates of chat models use for roles: <|im_end|>, </s>, <start_of_turn>, [INST].
FOREIGN_MARK = re.compile(rf"[{OPEN}{CLOSE}]|<(?=[|/!a-z][^<>\n]{{0,60}}>)|\[(?=/?INST\])", re.IGNORECASE)
REPLACEMENTS = {OPEN: "(", CLOSE: ")", "<": "‹", "[": "("}


def render_prompt(name: str, **values: str) -> str:
    """Return the prompt with its placeholders filled. Raises TypeError unless exactly all of them are given."""
    text = load_prompt(name)
    if (wanted := set(PLACEHOLDER.findall(text))) != values.keys():
        raise TypeError(f"the prompt {name} has the placeholders {sorted(wanted)}, got {sorted(values)}")
    return PLACEHOLDER.sub(lambda found: values[found[1]], text)


@cache
def load_examples(name: str) -> tuple[Message, ...]:
    """Return worked examples as messages: a question, a line with >>>, the answer; an empty line between two."""
    pairs = [each.split("\n>>>\n") for each in load_prompt(name).split("\n\n")]
    return tuple(
        message for question, answer in pairs for message in (Message("user", question), Message("assistant", answer))
    )


def mark_data(label: str, text: str) -> str:
    """Return the text between marks, with all marks inside it made harmless."""
    harmless = FOREIGN_MARK.sub(lambda found: REPLACEMENTS[found[0]], text)
    return f"{OPEN}{label}{CLOSE}\n{harmless}\n{OPEN}end{CLOSE}"


@cache
def load_prompt(name: str) -> str:
    return files("recollect.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
