"""Inquiry: a question at one source, with everything that is known about it before it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from recollect.apps.ask.candidates.interpretation import Interpretation
from recollect.apps.ask.interpret import Frame
from recollect.apps.ask.memories.reader import QuestionMemory
from recollect.apps.ask.memories.vocabulary import Taught
from recollect.apps.ask.question import Answer, Ask, Choice, Way
from recollect.apps.ask.source_registry import OpenSource, View
from recollect.values.memory import Memory
from recollect.values.text import is_cjk


@dataclass(frozen=True, slots=True)
class Inquiry:
    ask: Ask
    source: OpenSource
    view: View
    taught: Taught
    approved: tuple[Memory, ...]
    memory: QuestionMemory
    today: date
    user: str | None = None  # who asks; statements of one user get a fair share of the source
    session: str | None = None
    choice: Choice | None = None  # the offered choice that the question names
    interpretation: Interpretation | None = None  # where it was needed to choose among sources

    @property
    def question(self) -> str:
        return self.ask.question

    @property
    def language(self) -> Literal["en", "zh"]:
        return "zh" if is_cjk(self.question) else "en"

    @property
    def last_frame(self) -> Frame | None:
        """The frame that a follow-up changes, if all of it may still be seen. A question that was not understood does
        not end the thread."""
        data, _ = self.memory.find_last_frame(self.source.name)
        frame = Frame.from_data(data) if data else None
        return frame if frame and self.view.has(frame) else None

    @property
    def is_last_sure(self) -> bool:
        """Whether a follow-up can mean no other frame."""
        return self.memory.find_last_frame(self.source.name)[1]

    def begin(self, way: Way | None = None, **fields: Any) -> Answer:
        """Return the beginning of an answer: a statement to run, a question back, or a text."""
        return Answer(self.question, source=self.source.name, dialect=self.source.dialect, way=way, **fields)
