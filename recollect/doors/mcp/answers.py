"""What the tools give that ask something: a database, or documents. As in results.py, fields for programs and `told`
for a model, with what others wrote between marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import BaseModel, Field

from recollect.doors.mcp.results import Result
from recollect.prompts import marked

if TYPE_CHECKING:
    from recollect.hosts.documents.asking import Answered, Source
    from recollect.hosts.sql.asking import Answer


class Clarification(BaseModel):
    term: str
    question: str
    suggestions: list[str]


class Assumption(BaseModel):
    term: str
    meaning: str
    source: str
    confidence: float


class AnswerResult(Result):
    """Without `sql` it is a question back, or `text` says why there is no answer."""

    text: str
    sql: str
    columns: list[str]
    rows: list[list[Any]]
    is_truncated: bool = Field(description="There were more rows than fit.")
    clarifications: list[Clarification] = Field(description="What has to be known first: ask the user.")
    assumptions: list[Assumption] = Field(description="What was taken to be meant.")

    @classmethod
    def of(cls, answer: Answer) -> AnswerResult:
        rows = answer.rows
        return cls(
            text=answer.text,
            sql=answer.sql,
            columns=list(rows.columns) if rows else [],
            rows=[list(row) for row in rows.rows] if rows else [],
            is_truncated=rows.is_truncated if rows else False,
            clarifications=[
                Clarification(term=each.term, question=each.question, suggestions=list(each.suggestions))
                for each in answer.clarifications
            ],
            assumptions=[
                Assumption(term=each.term, meaning=each.meaning, source=each.source, confidence=each.confidence)
                for each in answer.assumptions
            ],
        )

    def told(self) -> str:
        asked = [f"To ask: {each.question}" for each in self.clarifications if each.question not in self.text]
        assumed = [f"Assumed: {each.term} = {each.meaning} ({each.source})" for each in self.assumptions]
        return "\n".join([marked("answer", self.text), *([f"SQL: {self.sql}"] if self.sql else []), *assumed, *asked])


class Passage(BaseModel):
    """A place in a document. `start` to `end` are the characters that the answer quotes, or the whole passage's."""

    document: UUID
    title: str = Field(description="What the document is called; empty if it is gone by now.")
    page: int | None = Field(description="Where it has pages.")
    text: str = Field(description="How the passage begins.")
    start: int
    end: int
    score: float
    cited: bool = Field(description="The answer rests on it.")

    @classmethod
    def of(cls, source: Source, titles: Mapping[UUID, str]) -> Passage:
        return cls(
            document=source.document,
            title=titles.get(source.document, ""),
            page=source.page,
            text=source.preview,
            start=source.start,
            end=source.end,
            score=source.score,
            cited=source.cited,
        )

    @property
    def place(self) -> str:
        return f"{self.title or self.document}{f', page {self.page}' if self.page else ''}"


class DocumentsResult(Result):
    """`session` is where the question was kept: name it again, and the next question may follow this one."""

    text: str
    session: str
    is_refused: bool = Field(description="Neither the documents nor memory say; `text` says so.")
    asked: str = Field(description="The question as it was looked for, with what it took from those before it.")
    sources: list[Passage] = Field(description="The passages that were found, best first.")
    model: str | None = Field(description="Which model wrote it; null: it is quoted from the documents.")

    @classmethod
    def of(cls, answer: Answered, titles: Mapping[UUID, str]) -> DocumentsResult:
        return cls(
            text=answer.answer,
            session=answer.session,
            is_refused=answer.refused,
            asked=answer.standalone,
            sources=[Passage.of(each, titles) for each in answer.sources],
            model=answer.model,
        )

    def told(self) -> str:
        cited = [f"From: {each.place}" for each in self.sources if each.cited]
        return "\n".join([marked("answer", "\n".join([self.text, *dict.fromkeys(cited)])), f"Session: {self.session}"])
