// Written by scripts/typescript_client.py from the server's OpenAPI document. Do not edit.

export interface AccessBody {
  /** What each role may see; one that is not named sees everything. */
  access: Record<string, unknown>;
}

export interface AnswerQuestionAnswer {
  answer: string;
  sql_query: string;
  query_explanation: string;
  tokens: Tokens;
  execution_result: ExecutionResult;
  related_tables: Array<string>;
  related_questions: Array<string>;
  tables_used: Array<string>;
  raw_graph: string;
  sql_execution_time: number;
  vector_store_search_time: number;
  llm_time: number;
  total_execution_time: number;
  llm_provider: string;
  llm_model: string;
  conversation_metadata: ConversationMetadata | null;
  memory_context_used: MemoryContextUsed | null;
  memory_retrieval_time: number | null;
  clarifications: Array<ClarificationAnswer>;
  assumptions: Array<AssumptionAnswer>;
  notes: Array<string>;
  confidence: number;
  answer_ref: string | null;
}

export interface AnswersSessionAnswer {
  id: string;
  session: string;
  name: string;
  turns: number;
  interactions: number;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  refs: Array<string>;
  replayed: boolean;
}

export interface ArmAnswer {
  rank: number;
  score: number;
}

export interface AskBodiesAskBody {
  question: string;
  /** Draw a chart of the result where one suits it. */
  plot?: boolean;
  /** Which kind of chart. */
  plot_details?: string;
  embeddings_provider?: string;
  embeddings_model?: string;
  vector_store_provider?: string;
  /** Only `openai`: any compatible server, as configured. */
  llm_provider?: string;
  llm_model?: string;
  llm_temperature?: number;
  llm_max_tokens?: number;
  /** Data sources, separated by commas; empty: all. */
  vdp_database_names?: string;
  vdp_tag_names?: string;
  allow_external_associations?: boolean;
  /** Tables that must take part: `source.table, ...`. */
  use_views?: string;
  /** false: only those of `use_views`. */
  expand_set_views?: boolean;
  custom_instructions?: string;
  markdown_response?: boolean;
  vector_search_k?: number;
  vector_search_sample_data_k?: number;
  vector_search_total_limit?: number;
  vector_search_column_description_char_limit?: number;
  vector_search_table_description_char_limit?: number;
  mode?: "default" | "data" | "metadata";
  disclaimer?: boolean;
  /** false: the answer is the SQL, without further questions. */
  verbose?: boolean;
  check_ambiguity?: boolean;
  vql_execute_rows_limit?: number;
  llm_response_rows_limit?: number;
  enable_query_fixer?: boolean;
  enable_query_reviewer?: boolean;
  user_id?: string | null;
  session_id?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  use_memory?: boolean;
  max_history_messages?: number | null;
  /** 0: none. */
  semantic_search_k?: number | null;
}

export interface AskedListAnswer {
  queries: Array<Text2SqlAskedAnswer>;
}

export interface AssumptionAnswer {
  term: string;
  meaning: string;
  source: string;
  confidence: number;
}

export interface AuditAnswer {
  audit: Array<AuditRow>;
}

export interface AuditRow {
  id: string;
  at: string;
  actor: string;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
}

export interface BodiesCorrectBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  /** A memory's id, or `memory:<id>` as citations name it. */
  memory: string;
  value: string;
}

export interface ChangeAnswer {
  kind: string;
  table: string | null;
  before: string | null;
  after: string | null;
  word: string | null;
}

/** `ref` is the reply in the log; `model` null: answered from memory alone. */
export interface ChatAnswer {
  response: string;
  session_id: string;
  latency_ms: number;
  memory: MemoryUseAnswer;
  suggestions: Array<string>;
  model: string | null;
  error_stage: string | null;
  ref: string | null;
  replayed: boolean;
}

export interface ChatBody {
  message: string;
  /** Who speaks; by default the caller. */
  user_id?: string | null;
  /** The conversation; without one a new one begins. */
  session_id?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** How far memory looks: auto widens when it must. */
  scope?: "auto" | "session" | "user";
  /** Answer as server-sent events. */
  stream?: boolean;
}

export interface ChatSession {
  session_id: string;
  turns: Array<ChatTurn>;
  next_before: number | null;
}

export interface ChatSessions {
  sessions: Array<NamedSession>;
}

/** Of a reply, `memory` is what was recalled for it. */
export interface ChatTurn {
  source: string;
  role: string;
  text: string;
  at: string;
  memory: MemoryUseAnswer | null;
  model: string | null;
  error_stage: string | null;
}

export interface ClarificationAnswer {
  term: string;
  question: string;
  suggestions: Array<string>;
  category: string;
}

export interface ClarifyBody {
  term: string;
  answer: string;
  question?: string;
  /** Who asks; by default the caller. */
  user_id?: string | null;
}

export interface ColumnAnswer {
  name: string;
  type: string;
}

/** OpenAI's request, passed on as it is. Here are the fields that memory reads. */
export interface CompletionBody {
  model?: string | null;
  messages?: Array<Record<string, unknown>>;
  stream?: boolean | null;
  /** Who speaks, unless a header or `metadata.user_id` says it. */
  user?: string | null;
  /** The same, in last place. */
  safety_identifier?: string | null;
  /** `user_id` and `session_id` are read. */
  metadata?: Record<string, unknown> | null;
  [name: string]: unknown;
}

export interface ContextAnswer {
  request_id: string;
  question: string;
  text: string;
  tokens: number;
  budget: number;
  truncated: boolean;
  lines: Array<LineAnswer>;
  left_out: Array<LeftOutAnswer>;
  scope_used: "session" | "user";
  widened: string | null;
  path: "hybrid" | "fts" | "vector" | "trgm" | "window" | "none";
  notes: Array<string>;
  memories: Array<MemoryHitAnswer>;
  episodes: Array<EpisodeHitAnswer>;
  resolved: Array<ResolutionAnswer>;
}

export interface ConversationMetadata {
  conversation_id: string;
  session_id: string;
  session_name: string;
  message_count: number;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  is_summarized: boolean;
}

export interface CorrectionAnswer {
  equivalent: boolean;
  changes: Array<ChangeAnswer>;
  learned: Array<MemoryAnswer>;
}

export interface DataSourcesSourceAnswer {
  name: string;
  address: string | null;
  dialect: string;
  fingerprint: string;
  created_at: string;
  updated_at: string;
}

export interface DatabaseAnswer {
  database: string;
  changed: boolean;
  views: Array<ViewAnswer>;
}

export interface Day {
  day: string;
  requests?: number;
  users?: number;
  hit?: number;
  few_words?: number;
  fallback?: number;
  contexts?: number;
  truncated?: number;
  retrieval_p50?: number | null;
  retrieval_p95?: number | null;
}

export interface DeletedAnswer {
  deleted: Array<string>;
}

/** `userId` is who added it; `failureReason` says what to do about a document that could not be read. */
export interface DocumentAnswer {
  id: string;
  userId: string;
  title: string;
  source: string;
  status: "pending" | "processing" | "processed" | "failed";
  failureReason: string | null;
  createdAt: string;
  updatedAt: string;
  shared: boolean;
  format: "pdf" | "docx" | "pptx" | "xlsx" | "csv" | "html" | "markdown" | "text" | null;
  size: number;
  pages: number;
  chunks: number;
  characters: number;
  progress: number;
}

export interface DocumentsAnswer {
  items: Array<DocumentAnswer>;
}

export interface EpisodeAnswer {
  id: string;
  ref: string;
  session: string;
  first: number;
  last: number;
  summary: string;
  facts: Array<string>;
  preferences: Array<string>;
  decisions: Array<string>;
  todos: Array<string>;
  entities: Array<string>;
  learned_by: string;
  model: string | null;
  tokens: number;
  said_from: string;
  said_to: string;
  created_at: string;
}

export interface EpisodeHitAnswer {
  source: string;
  tier: "session" | "user" | "project" | "ontology";
  score: number;
  cosine: number | null;
  why: string;
  words: Array<string>;
  episode: EpisodeAnswer;
}

export interface EpisodesAnswer {
  episodes: Array<EpisodeAnswer>;
}

export interface ErrorAnswer {
  error: ErrorDetail;
}

export interface ErrorDetail {
  code: string;
  message: string;
  field?: string | null;
}

export interface ExecuteAnswer {
  vql: string;
  execution_result: ExecutionResult;
}

export interface ExecuteBody {
  vql: string;
  limit?: number;
  /** Which database; by default the project's only one. */
  source?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
}

export interface ExecuteQueryBody {
  parameters?: Record<string, string>;
  limit?: number;
}

/** All rows, and those that a model is shown, each also as CSV; `{}` where there are none. */
export interface ExecutionResult {
  full?: Array<Record<string, unknown>>;
  full_csv?: string;
  llm?: Array<Record<string, unknown>>;
  llm_csv?: string;
}

export interface ExplanationAnswer {
  request_id: string;
  created_at: string;
  verb: string;
  query: string;
  session: string | null;
  scope_used: "session" | "user";
  widened: string | null;
  path: string;
  found: number;
  used: number;
  terms: Record<string, number>;
  hits: Array<Record<string, unknown>>;
  memories: Array<Record<string, unknown>>;
  episodes: Array<string>;
  left_out: Array<LeftOutAnswer>;
  notes: Array<string>;
  tokens: number;
  budget: number;
  latency_ms: number;
}

export interface FeedbackBody {
  question: string;
  sql: string;
  /** Only what was found right, or approved, answers again. */
  good: boolean;
  /** Who asks; by default the caller. */
  user_id?: string | null;
}

/** A memory; or a session; or, with neither, everything of the user. */
export interface ForgetBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  memory?: string | null;
  /** Must be true to forget a whole user. */
  everything?: boolean;
}

/** A number against its limit. `argues_for` is what to do beyond it; `note` how it was measured, or why not. */
export interface Gauge {
  name: string;
  value: number | null;
  limit: number;
  unit: "share" | "s" | "ms" | "per session" | "per week" | "of 5";
  verdict: "ok" | "over" | "under" | "not measured";
  meaning: string;
  argues_for?: string;
  note?: string;
}

export interface GlossaryAnswer {
  term: string;
  definition: string;
  defining_sql: string | null;
  base_table: string | null;
  aliases: Array<string>;
}

export interface GlossaryBody {
  term: string;
  definition?: string;
  defining_sql?: string | null;
  base_table?: string | null;
  aliases?: Array<string>;
}

export interface GlossaryListAnswer {
  glossary: Array<GlossaryAnswer>;
}

export interface HealthAnswer {
  status: string;
  version: string;
}

export interface HistoryAnswer {
  turns: Array<TurnAnswer>;
  next_before: number | null;
}

export interface HitAnswer {
  source: string;
  role: string;
  text: string;
  speaker: string | null;
  at: string | null;
  data: Record<string, unknown> | null;
  high_value: boolean;
  session: string | null;
  index: number | null;
  rank: number;
  tier: "session" | "user" | "project" | "ontology";
  score: number;
  why: string;
  words: Array<string>;
  arms: Record<string, ArmAnswer>;
  parts: Record<string, number>;
}

export interface ImportAnswer {
  added: number;
  changed: number;
  removed: number;
  unchanged: number;
}

export interface KeyAnswer {
  id: string;
  prefix: string;
  name: string;
  role: "admin" | "data" | "service" | "user";
  project: string | null;
  user: string | null;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  last_used_at: string | null;
}

/** What a new key is to permit. It belongs to `project`, unless it is to be good for every one. */
export interface KeyBody {
  role: "admin" | "data" | "service" | "user";
  /** How people tell it from others. */
  name: string;
  /** The project; by default the caller's. */
  project?: string | null;
  /** For the roles service and admin. */
  every_project?: boolean;
  /** Whose key; for the role user. */
  user?: string | null;
  expires_at?: string | null;
}

export interface KeysAnswer {
  keys: Array<KeyAnswer>;
}

export interface KnowledgeAnswer {
  id: string;
  fact: string;
  category: string;
  fact_type: string;
  value: string;
  context: string | null;
  source: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
  status: "active" | "pending" | "superseded" | "retracted";
  usage_count: number;
  created_at: string | null;
}

/** Both `{fact, category}` and `{fact_type, value, context}` are accepted. */
export interface KnowledgeBody {
  fact?: string | null;
  category?: string | null;
  fact_type?: string | null;
  value?: string | null;
  context?: string | null;
}

export interface KnowledgeListAnswer {
  knowledge: Array<KnowledgeAnswer>;
  next: string | null;
}

export interface LeftOutAnswer {
  source: string;
  reason: string;
}

export interface LessonBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  value: string;
  key?: string;
  kind?: "identity" | "preference" | "constraint" | "instruction" | "fact" | "decision" | "todo" | "terminology" | "definition" | "correction" | "question" | "note";
  source?: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
  owner?: "user" | "project" | null;
  confidence?: number | null;
  importance?: number;
  /** What the host attaches. */
  data?: Record<string, unknown> | null;
  question?: string | null;
  pending?: boolean;
  /** The turn that it comes from. */
  said_in?: string | null;
}

export interface LineAnswer {
  number: number;
  section: "terms" | "known" | "episodes" | "recalled" | "recent";
  source: string;
  tokens: number;
  excerpt: boolean;
  recent: boolean;
  text: string;
}

export interface LogAnswer {
  id: string;
  sessionId: string;
  queryText: string;
  responseText: string;
  latencyMs: number;
  sources: Array<UploadShapesSourceAnswer>;
  createdAt: string;
}

export interface LogsAnswer {
  logs: Array<LogAnswer>;
}

export interface MarkBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  ref: string;
  high_value?: boolean;
}

export interface MeaningAnswer {
  tier: "session" | "user" | "project" | "ontology";
  meaning: string;
  confidence: number;
  source: string;
  refs: Array<string>;
  sql: string | null;
  memory: string | null;
}

export interface MemoriesAnswer {
  memories: Array<MemoryAnswer>;
  next: string | null;
}

export interface MemoryAnswer {
  id: string;
  ref: string;
  text: string;
  kind: "identity" | "preference" | "constraint" | "instruction" | "fact" | "decision" | "todo" | "terminology" | "definition" | "correction" | "question" | "note";
  key: string;
  value: string;
  confidence: number;
  importance: number;
  source: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
  learned_by: "rules" | "model" | "person";
  status: "active" | "pending" | "superseded" | "retracted";
  valid_from: string;
  valid_to: string | null;
  reason: string | null;
  replaced_by: string | null;
  refs: Array<string>;
  data: Record<string, unknown> | null;
  terms: Array<string>;
  usage_count: number;
  last_used_at: string | null;
  created_at: string | null;
}

/** Says whose memory is meant; the id is in the path. */
export interface MemoryBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
}

export interface MemoryContextUsed {
  history_messages_count: number;
  similar_queries_count: number;
  context_tokens: number;
  context_truncated: boolean;
  memory_enabled: boolean;
}

export interface MemoryHitAnswer {
  source: string;
  tier: "session" | "user" | "project" | "ontology";
  score: number;
  why: string;
  words: Array<string>;
  is_asked: boolean;
  memory: MemoryAnswer;
}

export interface MemoryUseAnswer {
  request_id: string | null;
  scope_used: "session" | "user" | null;
  widened: string | null;
  path: "hybrid" | "fts" | "vector" | "trgm" | "window" | "none" | null;
  hits_found: number;
  hits_used: number;
  facts: number;
  episodes: number;
  tokens: number;
  truncated: boolean;
  notes: Array<string>;
  rewritten: string | null;
  learned_by: Array<"rules" | "model" | "person">;
  sources: Array<string>;
}

export interface MetadataAnswer {
  databases: Array<DatabaseAnswer>;
}

export interface ModelBody {
  /** The semantic model, as a mapping or as YAML. */
  model: Record<string, unknown> | string;
}

export interface NameBody {
  name: string;
  user_id?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
}

export interface NamedSession {
  session_id: string;
  name: string;
  turns: number;
  interactions: number;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
}

/** `secret` is here and nowhere else, ever; a repeat under the same idempotency key has null. */
export interface NewKeyAnswer {
  id: string;
  prefix: string;
  name: string;
  role: "admin" | "data" | "service" | "user";
  project: string | null;
  user: string | null;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  last_used_at: string | null;
  secret: string | null;
}

export interface OntologyBody {
  /** The project; by default the caller's. */
  project?: string | null;
  /** YAML or JSON text, or the same as an object. */
  source: string | Record<string, unknown>;
  replace?: boolean;
}

export interface ParameterAnswer {
  name: string;
  type: string;
  default?: string | null;
  example?: string | null;
}

export interface ParameterBody {
  name: string;
  type?: "text" | "integer" | "number" | "date" | "year";
  default?: string | null;
  example?: string | null;
}

export interface PassageAnswer {
  documentId: string;
  text: string;
  start: number;
  end: number;
  page: number | null;
  pageEnd: number | null;
  headings: Array<string>;
}

export interface QueriesAnswer {
  queries: Array<QueryAnswer>;
}

/** `is_current`: made for the shape that the database still has; one that is not answers nothing. */
export interface QueryAnswer {
  id: string;
  prompt: string;
  sql: string;
  parameters: Array<ParameterAnswer>;
  status: string;
  usage_count: number;
  is_current: boolean;
  created_at: string | null;
}

export interface QueryBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  /** The question. */
  text: string;
  scope?: "auto" | "session" | "user";
  kinds?: Array<"turn" | "memory" | "episode">;
  as_of?: string | null;
  /** Hits of recall. */
  limit?: number;
  /** Tokens of context. */
  budget?: number;
  max_turns?: number | null;
  turn_chars?: number;
  recent?: number | null;
  recency?: number;
  exclude?: Array<string>;
  definitions?: Record<string, string>;
}

export interface QueryProposal {
  prompt: string;
  sql: string;
  parameters?: Array<ParameterBody>;
}

export interface QuestionBody {
  question: string;
  /** Who asks; by default the caller. */
  user_id?: string | null;
  /** The session. */
  session_id?: string | null;
  /** Run it too; the rows are in `metadata.execution_result`. */
  execute?: boolean;
  limit?: number;
}

export interface ReadyAnswer {
  status: string;
  store: string;
  embedder: string | null;
  model: string | null;
  work: Record<string, unknown> | null;
  notes: Array<string>;
}

export interface RecallAnswer {
  request_id: string;
  question: string;
  scope_used: "session" | "user";
  widened: string | null;
  path: "hybrid" | "fts" | "vector" | "trgm" | "window" | "none";
  found: number;
  counts: Record<string, number>;
  terms: Record<string, number>;
  notes: Array<string>;
  hits: Array<HitAnswer>;
  memories: Array<MemoryHitAnswer>;
  episodes: Array<EpisodeHitAnswer>;
  resolved: Array<ResolutionAnswer>;
}

export interface RecallManyBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  /** Each may name its own user, project and session. */
  queries: Array<QueryBody>;
}

export interface RecallsAnswer {
  recalls: Array<RecallAnswer>;
}

export interface ReceiptAnswer {
  user: string;
  session: string | null;
  at: string;
  rows: Record<string, number>;
  memory: string | null;
  rebuilt: number;
  total: number;
}

export interface RecollectionAnswer {
  id: string;
  source: string;
  preview: string;
  score: number;
}

export interface RecordBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  turns: Array<TurnBody>;
}

export interface RecordedAnswer {
  refs: Array<string>;
  sessions: Array<AnswersSessionAnswer>;
}

export interface RejectionsAnswer {
  rejections: Record<string, number>;
}

export interface Report {
  project: string;
  since: string;
  until: string;
  totals: Totals;
  days: Array<Day>;
  paths: Record<string, number>;
  errors: Record<string, number>;
  latencies: Record<string, number>;
  learned: Record<string, number>;
  rejected: Record<string, number>;
  triggers: Array<Gauge>;
  goals: Array<Gauge>;
  notes?: Array<string>;
  asking?: Array<Week>;
  storage?: Array<Stored>;
}

export interface ResolutionAnswer {
  term: string;
  meaning: string | null;
  tier: "session" | "user" | "project" | "ontology" | null;
  confidence: number;
  source: string | null;
  refs: Array<string>;
  sql: string | null;
  memory: string | null;
  candidates: Array<MeaningAnswer>;
  why: string;
  is_resolved: boolean;
}

export interface ResolutionsAnswer {
  resolutions: Array<ResolutionAnswer>;
  notes: Array<string>;
}

export interface ResolveBody {
  /** Whose memory; by default the caller's own. */
  user?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
  /** The session. */
  session?: string | null;
  terms: Array<string>;
  definitions?: Record<string, string>;
}

export interface RunQueryAnswer {
  sql: string;
  tables: Array<string>;
  execution_result: ExecutionResult;
}

export interface SessionsAnswer {
  sessions: Array<UploadShapesSessionAnswer>;
}

export interface SimilarAnswer {
  views: Array<SimilarView>;
}

export interface SimilarView {
  view_name: string;
  view_text: string;
  score?: number | null;
}

export interface SourceBody {
  name: string;
  /** `${NAME}` in it is taken from the server's environment, so that no password need be kept. */
  dsn: string;
  /** What each role may see; one that is not named sees everything. */
  access?: Record<string, unknown> | null;
}

export interface SourcesAnswer {
  datasources: Array<DataSourcesSourceAnswer>;
}

/** What is kept for a user; without one, what the project shares. Bytes of texts and files, without indexes. */
export interface Stored {
  scope: string;
  user: string | null;
  turns: number;
  memories: number;
  documents: number;
  bytes: number;
}

export interface TableAnswer {
  name: string;
  comment: string;
  rows: number | null;
  columns: Array<ColumnAnswer>;
}

export interface TermAnswer {
  name: string;
  kind: "table" | "column" | "value" | "relationship" | "glossary";
  description: string;
  synonyms: Array<string>;
  sql: string | null;
  data: Record<string, unknown>;
  ref: string;
}

export interface TermBody {
  /** The project; by default the caller's. */
  project?: string | null;
  name: string;
  kind: "table" | "column" | "value" | "relationship" | "glossary";
  description?: string;
  synonyms?: Array<string>;
  sql?: string | null;
  data?: Record<string, unknown>;
}

export interface TermsAnswer {
  terms: Array<TermAnswer>;
}

export interface Text2SqlAnswer {
  sql: string;
  confidence: number;
  tables_used: Array<string>;
  examples_found: number;
  needs_clarification: boolean;
  clarifications: Array<ClarificationAnswer>;
  assumptions: Array<AssumptionAnswer>;
  pattern_used: string | null;
  metadata: Record<string, unknown>;
}

export interface Text2SqlAskedAnswer {
  ref: string;
  session: string;
  question: string;
  sql: string;
  tables: Array<string>;
  at: string;
  feedback: string | null;
}

export interface Text2SqlCorrectBody {
  question: string;
  generated_sql: string;
  corrected_sql: string;
  /** Who asks; by default the caller. */
  user_id?: string | null;
}

export interface Tokens {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
}

/** Counts over the whole period; percentiles in milliseconds, None where nothing was timed. */
export interface Totals {
  requests?: number;
  users?: number;
  sessions?: number;
  contexts?: number;
  few_words?: number;
  fallback?: number;
  only_vectors?: number;
  hit?: number;
  hits_found?: number;
  hits_used?: number;
  truncated?: number;
  summaries_only?: number;
  tokens?: number;
  budget?: number;
  retrieval_p50?: number | null;
  retrieval_p95?: number | null;
  llm_timed?: number;
  llm_p50?: number | null;
  llm_p95?: number | null;
  whole_p95?: number | null;
  follow_ups?: number;
  follow_ups_helped?: number;
  conversations?: number;
  questions?: number;
  due?: number;
  failing?: number;
  parked?: number;
}

export interface TroubleAnswer {
  scope: string;
  conversation: string;
  attempts: number;
  parked: Array<string>;
  failed_at: string;
  next_try: string | null;
  error: string;
}

export interface TurnAnswer {
  source: string;
  role: string;
  text: string;
  speaker: string | null;
  at: string | null;
  data: Record<string, unknown> | null;
  high_value: boolean;
  session: string | null;
  index: number | null;
}

export interface TurnBody {
  role: "user" | "assistant" | "system" | "tool";
  text: string;
  speaker?: string | null;
  at?: string | null;
  /** What the host attaches. */
  data?: Record<string, unknown> | null;
  high_value?: boolean;
}

export interface UploadShapesAskBody {
  query: string;
  sessionId?: string | null;
  /** Only in these. */
  documentIds?: Array<string> | null;
  topK?: number | null;
  /** The same as topK. */
  topKDocs?: number | null;
  topKMems?: number;
  maxHistoryTokens?: number;
  includeHistory?: boolean;
  /** Variety: passages that do not say the same twice; 1 is the plain order, 0.7 a good mixture. */
  mmr?: number | null;
  /** Who asks; by default the caller. */
  userId?: string | null;
  /** The project; by default the caller's. */
  project?: string | null;
}

/** `model` null: quoted from the documents; `refused`: no answer was found in them. */
export interface UploadShapesAskedAnswer {
  sessionId: string;
  answer: string;
  sources: Array<UploadShapesSourceAnswer>;
  memories: Array<RecollectionAnswer>;
  usedHistoryTokens: number;
  latencyMs: number;
  standaloneQuery: string;
  model: string | null;
  refused: boolean;
}

export interface UploadShapesSessionAnswer {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
}

/** `start` to `end` are the characters of the document that the answer quotes, or the chunk's. */
export interface UploadShapesSourceAnswer {
  documentId: string;
  chunkIndex: number;
  page: number | null;
  pageEnd: number | null;
  score: number;
  preview: string;
  start: number;
  end: number;
  cited: boolean;
}

export interface UploadedAnswer {
  document: DocumentAnswer;
}

/** A memory of a user, as the text-to-SQL API names its fields. */
export interface UserMemoryBody {
  /** Whose memory; by default the caller's own. */
  user_id?: string | null;
  type?: "terminology" | "preference" | "definition" | "correction" | null;
  key: string;
  value: string;
  source?: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
  confidence?: number | null;
}

export interface UserMemoryPatch {
  value: string;
  /** Whose memory; by default the caller's own. */
  user_id?: string | null;
}

export interface ValidAnswer {
  valid: boolean;
  reason: string | null;
  tables: Array<string>;
}

export interface ViewAnswer {
  view: string;
  columns: Array<string>;
}

/** Questions to databases in the week that begins on this Monday: asked, asked back, corrected. */
export interface Week {
  week: string;
  asked?: number;
  asked_back?: number;
  corrected?: number;
}

export interface WholeSourceAnswer {
  name: string;
  address: string | null;
  dialect: string;
  fingerprint: string;
  created_at: string;
  updated_at: string;
  tables: Array<TableAnswer>;
  model: Record<string, unknown>;
  access: Record<string, unknown> | null;
}

export interface WokenAnswer {
  woken: number;
}

export interface WorkAnswer {
  ok: boolean;
  due: number;
  leased: number;
  failing: number;
  parked: number;
  lag: number;
  troubles: Array<TroubleAnswer>;
  documents_waiting: number;
  documents_failed: number;
  documents_lag: number;
}
