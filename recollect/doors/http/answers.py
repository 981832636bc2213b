"""What callers get, as OpenAPI shows it. Answers are not validated against this on the way out; a test does that."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from recollect.model.api_key import Role
from recollect.model.known import Tier
from recollect.model.memory import LearnedBy, MemoryKind, Source, Status
from recollect.model.ontology import TermKind
from recollect.model.search import Path, Reached, Section


class ErrorDetail(BaseModel):
    code: str
    message: str
    field: str | None = None


class ErrorAnswer(BaseModel):
    error: ErrorDetail


class SessionAnswer(BaseModel):
    id: UUID
    session: str
    name: str
    turns: int
    interactions: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    refs: list[str]
    replayed: bool


class RecordedAnswer(BaseModel):
    refs: list[str]
    sessions: list[SessionAnswer]


class TurnAnswer(BaseModel):
    source: str
    role: str
    text: str
    speaker: str | None
    at: datetime | None
    data: dict[str, Any] | None
    high_value: bool
    session: str | None
    index: int | None


class HistoryAnswer(BaseModel):
    turns: list[TurnAnswer]
    next_before: int | None


class ArmAnswer(BaseModel):
    rank: int
    score: float


class HitAnswer(TurnAnswer):
    rank: int
    tier: Tier
    score: float
    why: str
    words: list[str]
    arms: dict[str, ArmAnswer]
    parts: dict[str, float]


class MemoryAnswer(BaseModel):
    id: UUID
    ref: str
    text: str
    kind: MemoryKind
    key: str
    value: str
    confidence: float
    importance: float
    source: Source
    learned_by: LearnedBy
    status: Status
    valid_from: datetime
    valid_to: datetime | None
    reason: str | None
    replaced_by: UUID | None
    refs: list[str]
    data: dict[str, Any] | None
    terms: list[str]
    usage_count: int
    last_used_at: datetime | None
    created_at: datetime | None


class MemoriesAnswer(BaseModel):
    memories: list[MemoryAnswer]
    next: str | None


class MemoryHitAnswer(BaseModel):
    source: str
    tier: Tier
    score: float
    why: str
    words: list[str]
    is_asked: bool
    memory: MemoryAnswer


class EpisodeAnswer(BaseModel):
    id: UUID
    ref: str
    session: str
    first: int
    last: int
    summary: str
    facts: list[str]
    preferences: list[str]
    decisions: list[str]
    todos: list[str]
    entities: list[str]
    learned_by: str
    model: str | None
    tokens: int
    said_from: datetime
    said_to: datetime
    created_at: datetime


class EpisodesAnswer(BaseModel):
    episodes: list[EpisodeAnswer]


class EpisodeHitAnswer(BaseModel):
    source: str
    tier: Tier
    score: float
    cosine: float | None
    why: str
    words: list[str]
    episode: EpisodeAnswer


class MeaningAnswer(BaseModel):
    tier: Tier
    meaning: str
    confidence: float
    source: str
    refs: list[str]
    sql: str | None
    memory: UUID | None


class ResolutionAnswer(BaseModel):
    term: str
    meaning: str | None
    tier: Tier | None
    confidence: float
    source: str | None
    refs: list[str]
    sql: str | None
    memory: UUID | None
    candidates: list[MeaningAnswer]
    why: str
    is_resolved: bool


class ResolutionsAnswer(BaseModel):
    resolutions: list[ResolutionAnswer]
    notes: list[str]


class RecallAnswer(BaseModel):
    request_id: UUID
    question: str
    scope_used: Reached
    widened: str | None
    path: Path
    found: int
    counts: dict[str, int]
    terms: dict[str, float]
    notes: list[str]
    hits: list[HitAnswer]
    memories: list[MemoryHitAnswer]
    episodes: list[EpisodeHitAnswer]
    resolved: list[ResolutionAnswer]


class RecallsAnswer(BaseModel):
    recalls: list[RecallAnswer]


class LineAnswer(BaseModel):
    number: int
    section: Section
    source: str
    tokens: int
    excerpt: bool
    recent: bool
    text: str


class LeftOutAnswer(BaseModel):
    source: str
    reason: str


class ContextAnswer(BaseModel):
    request_id: UUID
    question: str
    text: str
    tokens: int
    budget: int
    truncated: bool
    lines: list[LineAnswer]
    left_out: list[LeftOutAnswer]
    scope_used: Reached
    widened: str | None
    path: Path
    notes: list[str]
    memories: list[MemoryHitAnswer]
    episodes: list[EpisodeHitAnswer]
    resolved: list[ResolutionAnswer]


class ExplanationAnswer(BaseModel):
    request_id: UUID
    created_at: datetime
    verb: str
    query: str
    session: str | None
    scope_used: Reached
    widened: str | None
    path: str
    found: int
    used: int
    terms: dict[str, float]
    hits: list[dict[str, Any]]
    memories: list[dict[str, Any]]
    episodes: list[str]
    left_out: list[LeftOutAnswer]
    notes: list[str]
    tokens: int
    budget: int
    latency_ms: int


class ReceiptAnswer(BaseModel):
    user: str
    session: str | None
    at: datetime
    rows: dict[str, int]
    memory: UUID | None
    rebuilt: int
    total: int


class ImportAnswer(BaseModel):
    added: int
    changed: int
    removed: int
    unchanged: int


class TermAnswer(BaseModel):
    name: str
    kind: TermKind
    description: str
    synonyms: list[str]
    sql: str | None
    data: dict[str, Any]
    ref: str


class TermsAnswer(BaseModel):
    terms: list[TermAnswer]


class AuditRow(BaseModel):
    id: UUID
    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


class AuditAnswer(BaseModel):
    audit: list[AuditRow]


class RejectionsAnswer(BaseModel):
    rejections: dict[str, int]


class KnowledgeAnswer(BaseModel):
    id: UUID
    fact: str
    category: str
    fact_type: str
    value: str
    context: str | None
    source: Source
    status: Status
    usage_count: int
    created_at: datetime | None


class KnowledgeListAnswer(BaseModel):
    knowledge: list[KnowledgeAnswer]
    next: str | None


class HealthAnswer(BaseModel):
    status: str
    version: str


class ReadyAnswer(BaseModel):
    status: str
    store: str
    embedder: str | None
    model: str | None
    work: dict[str, Any] | None
    notes: list[str]


class KeyAnswer(BaseModel):
    id: UUID
    prefix: str
    name: str
    role: Role
    project: str | None
    user: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None


class NewKeyAnswer(KeyAnswer):
    """`secret` is here and nowhere else, ever; a repeat under the same idempotency key has null."""

    secret: str | None


class KeysAnswer(BaseModel):
    keys: list[KeyAnswer]


class TroubleAnswer(BaseModel):
    scope: UUID
    conversation: UUID
    attempts: int
    parked: list[str]
    failed_at: datetime
    next_try: datetime | None
    error: str


class WorkAnswer(BaseModel):
    ok: bool
    due: int
    leased: int
    failing: int
    parked: int
    lag: float
    troubles: list[TroubleAnswer]
    documents_waiting: int
    documents_failed: int
    documents_lag: float


class WokenAnswer(BaseModel):
    woken: int
