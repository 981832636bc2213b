// Written by scripts/typescript_client.py from the server's OpenAPI document. Do not edit.

import { Transport } from "./transport.ts";
import type { Options, ServerEvent } from "./transport.ts";
import type {
  AccessBody,
  AnswerQuestionAnswer,
  AskBodiesAskBody,
  AskedListAnswer,
  AuditAnswer,
  BodiesCorrectBody,
  ChatAnswer,
  ChatBody,
  ChatSession,
  ChatSessions,
  ClarifyBody,
  CompletionBody,
  ContextAnswer,
  CorrectionAnswer,
  DeletedAnswer,
  DocumentAnswer,
  DocumentsAnswer,
  EpisodesAnswer,
  ExecuteAnswer,
  ExecuteBody,
  ExecuteQueryBody,
  ExplanationAnswer,
  FeedbackBody,
  ForgetBody,
  GlossaryAnswer,
  GlossaryBody,
  GlossaryListAnswer,
  HealthAnswer,
  HistoryAnswer,
  ImportAnswer,
  KeyAnswer,
  KeyBody,
  KeysAnswer,
  KnowledgeAnswer,
  KnowledgeBody,
  KnowledgeListAnswer,
  LessonBody,
  LogsAnswer,
  MarkBody,
  MemoriesAnswer,
  MemoryAnswer,
  MemoryBody,
  MetadataAnswer,
  ModelBody,
  NameBody,
  NamedSession,
  NewKeyAnswer,
  OntologyBody,
  PassageAnswer,
  QueriesAnswer,
  QueryAnswer,
  QueryBody,
  QueryProposal,
  QuestionBody,
  ReadyAnswer,
  RecallAnswer,
  RecallManyBody,
  RecallsAnswer,
  ReceiptAnswer,
  RecordBody,
  RecordedAnswer,
  RejectionsAnswer,
  Report,
  ResolutionsAnswer,
  ResolveBody,
  RunQueryAnswer,
  SessionsAnswer,
  SimilarAnswer,
  SourceBody,
  SourcesAnswer,
  TermAnswer,
  TermBody,
  TermsAnswer,
  Text2SqlAnswer,
  Text2SqlCorrectBody,
  UploadShapesAskBody,
  UploadShapesAskedAnswer,
  UploadedAnswer,
  UserMemoryBody,
  UserMemoryPatch,
  ValidAnswer,
  WholeSourceAnswer,
  WokenAnswer,
  WorkAnswer,
} from "./schemas.ts";

export class Recollect extends Transport {
  /** Append what was said. Durable, and visible to the next read, when the answer is there. */
  record(body: RecordBody, options?: Options): Promise<RecordedAnswer> {
    return this.json({ method: "POST", path: "/v1/record", body }, options);
  }

  /** The turns that speak to a question, and what is known about it, each with why. */
  recall(body: QueryBody, options?: Options): Promise<RecallAnswer> {
    return this.json({ method: "POST", path: "/v1/recall", body }, options);
  }

  /** Several questions at once, answered in their order. */
  recallMany(body: RecallManyBody, options?: Options): Promise<RecallsAnswer> {
    return this.json({ method: "POST", path: "/v1/recall/many", body }, options);
  }

  /** Text for a prompt: terms, what is known, episodes, recalled turns and what was just said, within a budget. */
  context(body: QueryBody, options?: Options): Promise<ContextAnswer> {
    return this.json({ method: "POST", path: "/v1/context", body }, options);
  }

  /** What terms mean: in this session, to the user, in the project, in its ontology. */
  resolve(body: ResolveBody, options?: Options): Promise<ResolutionsAnswer> {
    return this.json({ method: "POST", path: "/v1/resolve", body }, options);
  }

  /** Remember what a person says outright. */
  learn(body: LessonBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: "/v1/learn", body }, options);
  }

  /** Give a memory another value; the old one ends and stays in the history. */
  correct(body: BodiesCorrectBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: "/v1/correct", body }, options);
  }

  /** Erase a memory, a session or a whole user, with everything derived; a receipt counts the rows per table. */
  forget(body: ForgetBody, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "POST", path: "/v1/forget", body }, options);
  }

  /** The last turns of a session, oldest first; `next_before` pages backwards. */
  history(query: {
    session: string;
    user?: string | null | undefined;
    project?: string | null | undefined;
    limit?: number | undefined;
    before?: number | null | undefined;
  }, options?: Options): Promise<HistoryAnswer> {
    return this.json({ method: "GET", path: "/v1/history", query }, options);
  }

  /** What a past recall or context found, and why; what was believed when, and why it changed. */
  explain(requestId: string, query: {
    user?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<ExplanationAnswer> {
    return this.json({ method: "GET", path: `/v1/explain/${encodeURIComponent(requestId)}`, query }, options);
  }

  /** Everything kept about a user, as JSON lines. */
  export(query: {
    user?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): AsyncIterable<unknown> {
    return this.lines({ method: "GET", path: "/v1/export", query }, options);
  }

  /** Say something, and be answered by an assistant that remembers. Both are kept in the log. */
  chat(body: ChatBody, options?: Options): Promise<ChatAnswer> {
    return this.json({ method: "POST", path: "/chat", body: { ...body, stream: false } }, options);
  }

  /** Say something, and be answered by an assistant that remembers. Both are kept in the log. */
  chatStream(body: ChatBody, options?: Options): AsyncIterable<ServerEvent> {
    return this.events({ method: "POST", path: "/chat", body: { ...body, stream: true } }, options);
  }

  /** A user's conversations, the last one first. */
  chatSessions(query: {
    user_id?: string | null | undefined;
    project?: string | null | undefined;
    limit?: number | undefined;
    offset?: number | undefined;
  } = {}, options?: Options): Promise<ChatSessions> {
    return this.json({ method: "GET", path: "/chat/sessions", query }, options);
  }

  /** Give a conversation another name than its first question. */
  renameChatSession(sessionId: string, body: NameBody, options?: Options): Promise<NamedSession> {
    return this.json({ method: "PATCH", path: `/chat/sessions/${encodeURIComponent(sessionId)}`, body }, options);
  }

  /** A conversation, oldest turn first, with what was recalled for each reply; `next_before` pages backwards. */
  chatSession(sessionId: string, query: {
    user_id?: string | null | undefined;
    project?: string | null | undefined;
    limit?: number | undefined;
    before?: number | null | undefined;
  } = {}, options?: Options): Promise<ChatSession> {
    return this.json({ method: "GET", path: `/chat/sessions/${encodeURIComponent(sessionId)}`, query }, options);
  }

  /** Erase a conversation with everything derived from it; a receipt counts the rows per table. */
  deleteChatSession(sessionId: string, query: {
    user_id?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "DELETE", path: `/chat/sessions/${encodeURIComponent(sessionId)}`, query }, options);
  }

  /** OpenAI's chat completions, with what is remembered of the user. The request goes on to the language model's server; what is said is kept. */
  completeChat(body: CompletionBody, options?: Options): Promise<Record<string, unknown>> {
    return this.json({ method: "POST", path: "/v1/chat/completions", body: { ...body, stream: false } }, options);
  }

  /** OpenAI's chat completions, with what is remembered of the user. The request goes on to the language model's server; what is said is kept. */
  completeChatStream(body: CompletionBody, options?: Options): AsyncIterable<ServerEvent> {
    return this.events({ method: "POST", path: "/v1/chat/completions", body: { ...body, stream: true } }, options);
  }

  /** The models of the language model's server, as it lists them. */
  listModels(options?: Options): Promise<Record<string, unknown>> {
    return this.json({ method: "GET", path: "/v1/models" }, options);
  }

  /** What is known, the important first, page by page; ended memories with `all=true` or their status. */
  memories(query: {
    user?: string | null | undefined;
    project?: string | null | undefined;
    kind?: Array<"identity" | "preference" | "constraint" | "instruction" | "fact" | "decision" | "todo" | "terminology" | "definition" | "correction" | "question" | "note"> | null | undefined;
    key?: string | null | undefined;
    status?: Array<"active" | "pending" | "superseded" | "retracted"> | null | undefined;
    all?: boolean | undefined;
    owner?: "user" | "project" | undefined;
    as_of?: string | null | undefined;
    limit?: number | undefined;
    after?: string | null | undefined;
  } = {}, options?: Options): Promise<MemoriesAnswer> {
    return this.json({ method: "GET", path: "/v1/memories", query }, options);
  }

  /** A todo is done, a decision no longer stands. */
  close(memory: string, body: MemoryBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/v1/memories/${encodeURIComponent(memory)}/close`, body }, options);
  }

  /** Make a user's memory the project's; for admins. */
  promote(memory: string, body: MemoryBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/v1/memories/${encodeURIComponent(memory)}/promote`, body }, options);
  }

  /** A pending memory counts from now on; for admins. */
  approve(memory: string, body: MemoryBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/v1/memories/${encodeURIComponent(memory)}/approve`, body }, options);
  }

  /** A pending memory will not count; for admins. */
  reject(memory: string, body: MemoryBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/v1/memories/${encodeURIComponent(memory)}/reject`, body }, options);
  }

  /** Blank a value everywhere, the turns it was said in included; the trail stays. */
  redact(memory: string, body: MemoryBody, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "POST", path: `/v1/memories/${encodeURIComponent(memory)}/redact`, body }, options);
  }

  /** Runs of turns told in a few lines, oldest first. */
  episodes(query: {
    user?: string | null | undefined;
    project?: string | null | undefined;
    session?: string | null | undefined;
    limit?: number | undefined;
  } = {}, options?: Options): Promise<EpisodesAnswer> {
    return this.json({ method: "GET", path: "/v1/episodes", query }, options);
  }

  /** Mark a turn as of high value: it is always embedded, and ranks as such. */
  mark(body: MarkBody, options?: Options): Promise<void> {
    return this.json({ method: "POST", path: "/v1/mark", body }, options);
  }

  /** What learning turned away, counted by reason. */
  rejections(query: {
    user?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<RejectionsAnswer> {
    return this.json({ method: "GET", path: "/v1/rejections", query }, options);
  }

  /** Who changed or erased what, when; never what it said. */
  audit(query: {
    user?: string | null | undefined;
    project?: string | null | undefined;
    owner?: "user" | "project" | undefined;
  } = {}, options?: Options): Promise<AuditAnswer> {
    return this.json({ method: "GET", path: "/v1/audit", query }, options);
  }

  /** Take tables, columns, values, relationships and a glossary from YAML, JSON or an object. */
  importOntology(body: OntologyBody, options?: Options): Promise<ImportAnswer> {
    return this.json({ method: "POST", path: "/v1/ontology", body }, options);
  }

  /** The ontology's terms, all or those that a search finds. */
  terms(query: {
    search?: string | null | undefined;
    kind?: "table" | "column" | "value" | "relationship" | "glossary" | null | undefined;
    project?: string | null | undefined;
    limit?: number | undefined;
  } = {}, options?: Options): Promise<TermsAnswer> {
    return this.json({ method: "GET", path: "/v1/terms", query }, options);
  }

  /** Add a term, or change it. */
  putTerm(body: TermBody, options?: Options): Promise<TermAnswer> {
    return this.json({ method: "PUT", path: "/v1/terms", body }, options);
  }

  /** Take a term out, with what belongs to it. */
  dropTerm(name: string, query: {
    kind?: "table" | "column" | "value" | "relationship" | "glossary" | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<void> {
    return this.json({ method: "DELETE", path: `/v1/terms/${encodeURIComponent(name)}`, query }, options);
  }

  /** Remember something for a user. */
  addMemory(project: string, body: UserMemoryBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/memory/user`, body }, options);
  }

  /** A user's memories, the important first. */
  listMemories(project: string, query: {
    user_id?: string | null | undefined;
    limit?: number | undefined;
    after?: string | null | undefined;
  } = {}, options?: Options): Promise<MemoriesAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/memory/user`, query }, options);
  }

  /** Give a user's memory another value. */
  changeMemory(project: string, memory: string, body: UserMemoryPatch, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "PATCH", path: `/api/projects/${encodeURIComponent(project)}/memory/user/${encodeURIComponent(memory)}`, body }, options);
  }

  /** Forget a user's memory. */
  dropMemory(project: string, memory: string, query: {
    user_id?: string | null | undefined;
  } = {}, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "DELETE", path: `/api/projects/${encodeURIComponent(project)}/memory/user/${encodeURIComponent(memory)}`, query }, options);
  }

  /** Make a user's memory the project's; for admins. */
  promoteMemory(project: string, memory: string, query: {
    user_id?: string | null | undefined;
  } = {}, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/memory/user/${encodeURIComponent(memory)}/promote`, query }, options);
  }

  /** Tell the whole project something. */
  addKnowledge(project: string, body: KnowledgeBody, options?: Options): Promise<KnowledgeAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/knowledge`, body }, options);
  }

  /** What the project knows. */
  listKnowledge(project: string, query: {
    limit?: number | undefined;
    after?: string | null | undefined;
  } = {}, options?: Options): Promise<KnowledgeListAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/knowledge`, query }, options);
  }

  /** Give a piece of knowledge another value. */
  changeKnowledge(project: string, memory: string, body: KnowledgeBody, options?: Options): Promise<KnowledgeAnswer> {
    return this.json({ method: "PUT", path: `/api/projects/${encodeURIComponent(project)}/knowledge/${encodeURIComponent(memory)}`, body }, options);
  }

  /** Forget a piece of knowledge. */
  dropKnowledge(project: string, memory: string, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "DELETE", path: `/api/projects/${encodeURIComponent(project)}/knowledge/${encodeURIComponent(memory)}` }, options);
  }

  /** The words that the project has defined, all or those that a search finds. */
  listGlossary(project: string, query: {
    search?: string | null | undefined;
  } = {}, options?: Options): Promise<GlossaryListAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/glossary`, query }, options);
  }

  /** Define a word for the project, or change what it means. */
  putGlossary(project: string, body: GlossaryBody, options?: Options): Promise<GlossaryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/glossary`, body }, options);
  }

  /** Take a word out of the glossary. */
  dropGlossary(project: string, term: string, options?: Options): Promise<void> {
    return this.json({ method: "DELETE", path: `/api/projects/${encodeURIComponent(project)}/glossary/${encodeURIComponent(term)}` }, options);
  }

  /** Add a database: it is opened, read, and a model of it is drafted. */
  addDataSource(project: string, body: SourceBody, options?: Options): Promise<WholeSourceAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources`, body }, options);
  }

  /** The databases that the project asks. */
  listDataSources(project: string, options?: Options): Promise<SourcesAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/datasources` }, options);
  }

  /** A database: its tables and its model, as far as the caller may see them. */
  showDataSource(project: string, source: string, options?: Options): Promise<WholeSourceAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}` }, options);
  }

  /** Forget a database; nothing in it is touched. */
  dropDataSource(project: string, source: string, options?: Options): Promise<void> {
    return this.json({ method: "DELETE", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}` }, options);
  }

  /** Give a database another semantic model; what it names must be there. */
  putModel(project: string, source: string, body: ModelBody, options?: Options): Promise<WholeSourceAnswer> {
    return this.json({ method: "PUT", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/model`, body }, options);
  }

  /** Say what each role may see of a database. */
  putAccess(project: string, source: string, body: AccessBody, options?: Options): Promise<WholeSourceAnswer> {
    return this.json({ method: "PUT", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/access`, body }, options);
  }

  /** Read a database again. Approved queries of another shape no longer count. */
  refreshDataSource(project: string, source: string, options?: Options): Promise<WholeSourceAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/refresh` }, options);
  }

  /** The SQL for a question, with what was assumed; or what has to be known first. */
  textToSql(project: string, source: string, body: QuestionBody, options?: Options): Promise<Text2SqlAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/text2sql`, body }, options);
  }

  /** Answer a question back: what a word means. It is learned, for the user or for the project, by its wording; for the project only by those who may teach it. */
  clarifyTerm(project: string, source: string, body: ClarifyBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/text2sql/clarify`, body }, options);
  }

  /** Put a statement right. What the difference says is learned; the right one must be one that may run. */
  correctSql(project: string, source: string, body: Text2SqlCorrectBody, options?: Options): Promise<CorrectionAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/text2sql/correct`, body }, options);
  }

  /** Say whether a statement was right for a question. A right one answers it again, for this user. */
  rateSql(project: string, source: string, body: FeedbackBody, options?: Options): Promise<MemoryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/text2sql/feedback`, body }, options);
  }

  /** What a user asked of this database lately, the last first, with the SQL and what he thought of it; nothing about tables that the caller may not see now. */
  queryHistory(project: string, source: string, query: {
    user_id?: string | null | undefined;
    limit?: number | undefined;
  } = {}, options?: Options): Promise<AskedListAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/history`, query }, options);
  }

  /** Propose a question with its SQL; `{{name}}` in both is a parameter. It must pass the gate. */
  proposeQuery(project: string, source: string, body: QueryProposal, options?: Options): Promise<QueryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries`, body }, options);
  }

  /** The questions that were proposed or approved for a database. */
  listQueries(project: string, source: string, query: {
    status?: "pending" | "approved" | "rejected" | null | undefined;
  } = {}, options?: Options): Promise<QueriesAnswer> {
    return this.json({ method: "GET", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries`, query }, options);
  }

  /** Whether a query would still pass the gate, and what it reads. */
  validateQuery(project: string, source: string, query: string, options?: Options): Promise<ValidAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries/${encodeURIComponent(query)}/validate` }, options);
  }

  /** From now on it answers its question. */
  approveQuery(project: string, source: string, query: string, options?: Options): Promise<QueryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries/${encodeURIComponent(query)}/approve` }, options);
  }

  /** It will answer nothing. */
  rejectQuery(project: string, source: string, query: string, options?: Options): Promise<QueryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries/${encodeURIComponent(query)}/reject` }, options);
  }

  /** Run an approved query with values for its parameters. */
  executeQuery(project: string, source: string, query: string, body: ExecuteQueryBody, options?: Options): Promise<RunQueryAnswer> {
    return this.json({ method: "POST", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries/${encodeURIComponent(query)}/execute`, body }, options);
  }

  /** Forget a query. */
  dropQuery(project: string, source: string, query: string, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "DELETE", path: `/api/projects/${encodeURIComponent(project)}/datasources/${encodeURIComponent(source)}/queries/${encodeURIComponent(query)}` }, options);
  }

  /** Ask a database. With `user_id`, what was asked and taught before takes part, and this is remembered. */
  answerQuestion(body: AskBodiesAskBody, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "POST", path: "/answerQuestion", body }, options);
  }

  /** Ask a database, with the fields in the address. */
  answerQuestionByAddress(query: {
    question: string;
    plot?: boolean | undefined;
    plot_details?: string | undefined;
    embeddings_provider?: string | undefined;
    embeddings_model?: string | undefined;
    vector_store_provider?: string | undefined;
    llm_provider?: string | undefined;
    llm_model?: string | undefined;
    llm_temperature?: number | undefined;
    llm_max_tokens?: number | undefined;
    vdp_database_names?: string | undefined;
    vdp_tag_names?: string | undefined;
    allow_external_associations?: boolean | undefined;
    use_views?: string | undefined;
    expand_set_views?: boolean | undefined;
    custom_instructions?: string | undefined;
    markdown_response?: boolean | undefined;
    vector_search_k?: number | undefined;
    vector_search_sample_data_k?: number | undefined;
    vector_search_total_limit?: number | undefined;
    vector_search_column_description_char_limit?: number | undefined;
    vector_search_table_description_char_limit?: number | undefined;
    mode?: "default" | "data" | "metadata" | undefined;
    disclaimer?: boolean | undefined;
    verbose?: boolean | undefined;
    check_ambiguity?: boolean | undefined;
    vql_execute_rows_limit?: number | undefined;
    llm_response_rows_limit?: number | undefined;
    enable_query_fixer?: boolean | undefined;
    enable_query_reviewer?: boolean | undefined;
    user_id?: string | null | undefined;
    session_id?: string | null | undefined;
    project?: string | null | undefined;
    use_memory?: boolean | undefined;
    max_history_messages?: number | null | undefined;
    semantic_search_k?: number | null | undefined;
  }, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "GET", path: "/answerQuestion", query }, options);
  }

  /** Ask for data, whatever the question sounds like. */
  answerDataQuestion(body: AskBodiesAskBody, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "POST", path: "/answerDataQuestion", body }, options);
  }

  /** Ask for data, with the fields in the address. */
  answerDataQuestionByAddress(query: {
    question: string;
    plot?: boolean | undefined;
    plot_details?: string | undefined;
    embeddings_provider?: string | undefined;
    embeddings_model?: string | undefined;
    vector_store_provider?: string | undefined;
    llm_provider?: string | undefined;
    llm_model?: string | undefined;
    llm_temperature?: number | undefined;
    llm_max_tokens?: number | undefined;
    vdp_database_names?: string | undefined;
    vdp_tag_names?: string | undefined;
    allow_external_associations?: boolean | undefined;
    use_views?: string | undefined;
    expand_set_views?: boolean | undefined;
    custom_instructions?: string | undefined;
    markdown_response?: boolean | undefined;
    vector_search_k?: number | undefined;
    vector_search_sample_data_k?: number | undefined;
    vector_search_total_limit?: number | undefined;
    vector_search_column_description_char_limit?: number | undefined;
    vector_search_table_description_char_limit?: number | undefined;
    mode?: "default" | "data" | "metadata" | undefined;
    disclaimer?: boolean | undefined;
    verbose?: boolean | undefined;
    check_ambiguity?: boolean | undefined;
    vql_execute_rows_limit?: number | undefined;
    llm_response_rows_limit?: number | undefined;
    enable_query_fixer?: boolean | undefined;
    enable_query_reviewer?: boolean | undefined;
    user_id?: string | null | undefined;
    session_id?: string | null | undefined;
    project?: string | null | undefined;
    use_memory?: boolean | undefined;
    max_history_messages?: number | null | undefined;
    semantic_search_k?: number | null | undefined;
  }, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "GET", path: "/answerDataQuestion", query }, options);
  }

  /** Ask what the database contains; nothing is run. */
  answerMetadataQuestion(body: AskBodiesAskBody, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "POST", path: "/answerMetadataQuestion", body }, options);
  }

  /** Ask what the database contains, with the fields in the address. */
  answerMetadataQuestionByAddress(query: {
    question: string;
    plot?: boolean | undefined;
    plot_details?: string | undefined;
    embeddings_provider?: string | undefined;
    embeddings_model?: string | undefined;
    vector_store_provider?: string | undefined;
    llm_provider?: string | undefined;
    llm_model?: string | undefined;
    llm_temperature?: number | undefined;
    llm_max_tokens?: number | undefined;
    vdp_database_names?: string | undefined;
    vdp_tag_names?: string | undefined;
    allow_external_associations?: boolean | undefined;
    use_views?: string | undefined;
    expand_set_views?: boolean | undefined;
    custom_instructions?: string | undefined;
    markdown_response?: boolean | undefined;
    vector_search_k?: number | undefined;
    vector_search_sample_data_k?: number | undefined;
    vector_search_total_limit?: number | undefined;
    vector_search_column_description_char_limit?: number | undefined;
    vector_search_table_description_char_limit?: number | undefined;
    mode?: "default" | "data" | "metadata" | undefined;
    disclaimer?: boolean | undefined;
    verbose?: boolean | undefined;
    check_ambiguity?: boolean | undefined;
    vql_execute_rows_limit?: number | undefined;
    llm_response_rows_limit?: number | undefined;
    enable_query_fixer?: boolean | undefined;
    enable_query_reviewer?: boolean | undefined;
    user_id?: string | null | undefined;
    session_id?: string | null | undefined;
    project?: string | null | undefined;
    use_memory?: boolean | undefined;
    max_history_messages?: number | null | undefined;
    semantic_search_k?: number | null | undefined;
  }, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "GET", path: "/answerMetadataQuestion", query }, options);
  }

  /** Ask a database, and get the words of the answer as a stream of text. */
  streamAnswerQuestion(body: AskBodiesAskBody, options?: Options): AsyncIterable<string> {
    return this.text({ method: "POST", path: "/streamAnswerQuestion", body }, options);
  }

  /** Ask a database, with the fields in the address, and get the words as a stream of text. */
  streamAnswerQuestionByAddress(query: {
    question: string;
    plot?: boolean | undefined;
    plot_details?: string | undefined;
    embeddings_provider?: string | undefined;
    embeddings_model?: string | undefined;
    vector_store_provider?: string | undefined;
    llm_provider?: string | undefined;
    llm_model?: string | undefined;
    llm_temperature?: number | undefined;
    llm_max_tokens?: number | undefined;
    vdp_database_names?: string | undefined;
    vdp_tag_names?: string | undefined;
    allow_external_associations?: boolean | undefined;
    use_views?: string | undefined;
    expand_set_views?: boolean | undefined;
    custom_instructions?: string | undefined;
    markdown_response?: boolean | undefined;
    vector_search_k?: number | undefined;
    vector_search_sample_data_k?: number | undefined;
    vector_search_total_limit?: number | undefined;
    vector_search_column_description_char_limit?: number | undefined;
    vector_search_table_description_char_limit?: number | undefined;
    mode?: "default" | "data" | "metadata" | undefined;
    disclaimer?: boolean | undefined;
    verbose?: boolean | undefined;
    check_ambiguity?: boolean | undefined;
    vql_execute_rows_limit?: number | undefined;
    llm_response_rows_limit?: number | undefined;
    enable_query_fixer?: boolean | undefined;
    enable_query_reviewer?: boolean | undefined;
    user_id?: string | null | undefined;
    session_id?: string | null | undefined;
    project?: string | null | undefined;
    use_memory?: boolean | undefined;
    max_history_messages?: number | null | undefined;
    semantic_search_k?: number | null | undefined;
  }, options?: Options): AsyncIterable<string> {
    return this.text({ method: "GET", path: "/streamAnswerQuestion", query }, options);
  }

  /** The SQL for a question, without running it. */
  generateVql(body: AskBodiesAskBody, options?: Options): Promise<AnswerQuestionAnswer> {
    return this.json({ method: "POST", path: "/generateVQL", body }, options);
  }

  /** Run a statement that you give, guarded like any other: it can only read, and only what you may see. */
  executeVql(body: ExecuteBody, options?: Options): Promise<ExecuteAnswer> {
    return this.json({ method: "POST", path: "/executeVQL", body }, options);
  }

  /** Read the databases again, and show what they contain; for data stewards and admins. */
  getMetadata(query: {
    vdp_database_names?: string | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<MetadataAnswer> {
    return this.json({ method: "GET", path: "/getMetadata", query }, options);
  }

  /** Forget what the databases contain, until they are read again; for data stewards and admins. */
  deleteMetadata(query: {
    vdp_database_names?: string | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<DeletedAnswer> {
    return this.json({ method: "DELETE", path: "/deleteMetadata", query }, options);
  }

  /** The tables that speak to a text, best first. */
  similaritySearch(query: {
    query: string;
    vdp_database_names?: string | undefined;
    n_results?: number | undefined;
    scores?: boolean | undefined;
    project?: string | null | undefined;
  }, options?: Options): Promise<SimilarAnswer> {
    return this.json({ method: "GET", path: "/similaritySearch", query }, options);
  }

  /** Add a document. It is kept when this answers, and read in the background; the same bytes are one document. With `shared` all users of the project find it. */
  uploadDocument(body: FormData, query: {
    userId?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<UploadedAnswer> {
    return this.json({ method: "POST", path: "/api/v1/upload-ask/documents", query, body }, options);
  }

  /** The user's documents and the project's, the newest first. */
  listDocuments(query: {
    userId?: string | null | undefined;
    project?: string | null | undefined;
    status?: string | null | undefined;
    limit?: number | undefined;
    after?: string | null | undefined;
  } = {}, options?: Options): Promise<DocumentsAnswer> {
    return this.json({ method: "GET", path: "/api/v1/upload-ask/documents", query }, options);
  }

  /** A document: how far it is, what it has, or why it failed. */
  showDocument(id: string, query: {
    userId?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<DocumentAnswer> {
    return this.json({ method: "GET", path: `/api/v1/upload-ask/documents/${encodeURIComponent(id)}`, query }, options);
  }

  /** Erase a document with everything made of it. One that is shared takes who may change those. */
  deleteDocument(id: string, query: {
    shared?: boolean | undefined;
    userId?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<ReceiptAnswer> {
    return this.json({ method: "DELETE", path: `/api/v1/upload-ask/documents/${encodeURIComponent(id)}`, query }, options);
  }

  /** The text of a document at a citation, from one character to another, with its page and headings. */
  showPassage(id: string, query: {
    start?: number | undefined;
    end?: number | null | undefined;
    userId?: string | null | undefined;
    project?: string | null | undefined;
  } = {}, options?: Options): Promise<PassageAnswer> {
    return this.json({ method: "GET", path: `/api/v1/upload-ask/documents/${encodeURIComponent(id)}/passage`, query }, options);
  }

  /** Ask the documents. The answer names what it rests on; both are kept in the log. */
  askDocuments(body: UploadShapesAskBody, options?: Options): Promise<UploadShapesAskedAnswer> {
    return this.json({ method: "POST", path: "/api/v1/upload-ask/query", body }, options);
  }

  /** Ask the documents; the same as `query`, under its other name. */
  askDocumentsInSession(body: UploadShapesAskBody, options?: Options): Promise<UploadShapesAskedAnswer> {
    return this.json({ method: "POST", path: "/api/v1/upload-ask/qa/query", body }, options);
  }

  /** A user's conversations, the last one first. */
  documentSessions(query: {
    userId?: string | null | undefined;
    project?: string | null | undefined;
    limit?: number | undefined;
    offset?: number | undefined;
  } = {}, options?: Options): Promise<SessionsAnswer> {
    return this.json({ method: "GET", path: "/api/v1/upload-ask/qa/sessions", query }, options);
  }

  /** What was asked of documents in a session, oldest first, with the answers and what they rest on. */
  documentLogs(sessionId: string, query: {
    userId?: string | null | undefined;
    project?: string | null | undefined;
    limit?: number | undefined;
    before?: number | null | undefined;
  } = {}, options?: Options): Promise<LogsAnswer> {
    return this.json({ method: "GET", path: `/api/v1/upload-ask/qa/sessions/${encodeURIComponent(sessionId)}/logs`, query }, options);
  }

  /** Make an API key; for admins. The secret is in this answer and nowhere else. The first key closes the door to everybody without one. */
  createKey(body: KeyBody, options?: Options): Promise<NewKeyAnswer> {
    return this.json({ method: "POST", path: "/v1/keys", body }, options);
  }

  /** The keys of a project, also those that are no longer good; never a secret. */
  listKeys(query: {
    project?: string | null | undefined;
    every_project?: boolean | undefined;
  } = {}, options?: Options): Promise<KeysAnswer> {
    return this.json({ method: "GET", path: "/v1/keys", query }, options);
  }

  /** End a key: at once here, within half a minute in other processes. */
  revokeKey(id: string, query: {
    project?: string | null | undefined;
    every_project?: boolean | undefined;
  } = {}, options?: Options): Promise<KeyAnswer> {
    return this.json({ method: "DELETE", path: `/v1/keys/${encodeURIComponent(id)}`, query }, options);
  }

  /** How memory did in a project: counts over all its users, never a text, each judged against its limit. */
  report(query: {
    project?: string | null | undefined;
    days?: number | undefined;
  } = {}, options?: Options): Promise<Report> {
    return this.json({ method: "GET", path: "/v1/report", query }, options);
  }

  /** The work behind the log of all projects: what waits, fails or is parked, and why; for admins of all projects. */
  work(options?: Options): Promise<WorkAnswer> {
    return this.json({ method: "GET", path: "/v1/work" }, options);
  }

  /** Try parked work again; says how many conversations that is. */
  retryWork(options?: Options): Promise<WokenAnswer> {
    return this.json({ method: "POST", path: "/v1/work/retry" }, options);
  }

  /** The process answers. */
  health(options?: Options): Promise<HealthAnswer> {
    return this.json({ method: "GET", path: "/health" }, options);
  }

  /** Database, migrations and the work behind the log. `degraded`: it answers, but something needs a look. */
  ready(options?: Options): Promise<ReadyAnswer> {
    return this.json({ method: "GET", path: "/ready" }, options);
  }

  /** For Prometheus. */
  metrics(options?: Options): AsyncIterable<string> {
    return this.text({ method: "GET", path: "/metrics" }, options);
  }
}
