/**
 * How requests go out and answers come in: one JSON answer, text as it comes, lines of JSON, or server-sent events.
 * Written by hand; client.ts, which is generated, calls it. It needs nothing but `fetch`.
 */

export interface Settings {
  /** Where the server is, such as `http://localhost:8008`. */
  url: string;
  /** An API key or a JSON Web Token; sent as `Authorization: Bearer`. */
  key?: string;
  /** For whom a key that belongs to no user speaks; sent as `X-User-Id`. */
  user?: string;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

export interface Options {
  signal?: AbortSignal;
  /** The same key and body again get the same answer, and nothing is done twice. */
  idempotencyKey?: string;
  headers?: Record<string, string>;
}

export interface ServerEvent {
  event: string;
  data: string;
}

type Values = object | undefined;

export interface Call {
  method: string;
  path: string;
  query?: Values;
  body?: unknown;
  accept?: string;
}

/** What the server refused, in the words of its envelope. */
export class RecollectError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  /** Seconds to wait before trying again, where the server says. */
  readonly retryAfter: number | undefined;

  constructor(answer: Response, told: { code?: string; message?: string; field?: string }) {
    super(told.message ?? `the server answered ${answer.status}`);
    this.name = "RecollectError";
    this.status = answer.status;
    this.code = told.code ?? "error";
    this.field = told.field;
    this.requestId = answer.headers.get("x-request-id") ?? undefined;
    const wait = answer.headers.get("retry-after");
    this.retryAfter = wait === null ? undefined : Number(wait);
  }
}

export class Transport {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** The whole answer. `T` is what the schema says about it; nothing is checked here. */
  protected async json<T>(call: Call, options: Options = {}): Promise<T> {
    const answer = await this.#send(call, options);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  /** The text, piece by piece as it comes. */
  protected async *text(call: Call, options: Options = {}): AsyncGenerator<string, void, undefined> {
    const answer = await this.#send(call, options);
    const decoder = new TextDecoder();
    for await (const bytes of chunks(answer)) yield decoder.decode(bytes, { stream: true });
    const rest = decoder.decode();
    if (rest) yield rest;
  }

  /** What each line says. */
  protected async *lines(call: Call, options: Options = {}): AsyncGenerator<unknown, void, undefined> {
    for await (const line of split(this.text(call, options), /\r?\n/)) if (line) yield JSON.parse(line);
  }

  protected async *events(call: Call, options: Options = {}): AsyncGenerator<ServerEvent, void, undefined> {
    const asked = { ...call, accept: "text/event-stream" };
    for await (const block of split(this.text(asked, options), /\r?\n\r?\n/)) {
      const event = eventOf(block);
      if (event) yield event;
    }
  }

  async #send(call: Call, options: Options): Promise<Response> {
    const { url, fetch: send = fetch } = this.#settings;
    const { body } = call;
    const answer = await send(new URL(url.replace(/\/+$/, "") + call.path + search(call.query)), {
      method: call.method,
      headers: this.#headers(call, options),
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    if (!answer.ok) throw new RecollectError(answer, await refusal(answer));
    return answer;
  }

  #headers(call: Call, options: Options): Headers {
    const { key, user, headers } = this.#settings;
    const made = new Headers({ ...headers, ...options.headers });
    if (call.accept) made.set("accept", call.accept);
    if (key) made.set("authorization", `Bearer ${key}`);
    if (user && !made.has("x-user-id")) made.set("x-user-id", user);
    if (options.idempotencyKey) made.set("idempotency-key", options.idempotencyKey);
    // Of a form, fetch itself says where its parts end.
    if (call.body !== undefined && !(call.body instanceof FormData)) made.set("content-type", "application/json");
    return made;
  }
}

function search(query: Values): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null) made.append(name, String(each));
    }
  }
  return made.size ? `?${made}` : "";
}

async function refusal(answer: Response): Promise<{ code?: string; message?: string; field?: string }> {
  const said = await answer.text();
  try {
    return JSON.parse(said).error ?? {};
  } catch {
    // Something between us and the server spoke.
    return said ? { message: said.slice(0, 500) } : {};
  }
}

async function* chunks(answer: Response): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = answer.body?.getReader();
  if (!reader) return;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    // Whoever stops listening hangs up.
    await reader.cancel().catch(() => undefined);
  }
}

async function* split(pieces: AsyncIterable<string>, mark: RegExp): AsyncGenerator<string, void, undefined> {
  let waiting = "";
  for await (const piece of pieces) {
    const parts = (waiting + piece).split(mark);
    waiting = parts.pop() ?? "";
    yield* parts;
  }
  if (waiting) yield waiting;
}

function eventOf(block: string): ServerEvent | undefined {
  const data: string[] = [];
  let event = "message";
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length ? { event, data: data.join("\n") } : undefined;
}
