/**
 * A client for Recollect's HTTP API: openapi-fetch with the types of schema.ts, errors that are thrown, and streamed
 * responses as async iterables.
 */
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient, { defaultBodySerializer } from "openapi-fetch";
import type { Client, ClientPathsWithMethod, MaybeOptionalInit, MethodResponse } from "openapi-fetch";

import type { paths } from "./schema.ts";

export interface Settings {
  /** The address of the server, such as `http://localhost:8008`. */
  url: string;
  /** An API key or a JSON Web Token; sent as `Authorization: Bearer`. */
  key?: string;
  /** The user that a `service` or `admin` key acts for; sent as `X-User-Id`. */
  user?: string;
  headers?: Record<string, string>;
  fetch?: (request: Request) => Promise<Response>;
}

export interface ServerEvent {
  event: string;
  data: string;
}

/** An error response of the server, with the fields of its JSON body. */
export class RecollectError extends Error {
  override readonly name = "RecollectError";
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  /** Seconds to wait before the next attempt, if the server sends them. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, body: { code?: string; message?: string; field?: string }) {
    super(body.message ?? `the server answered ${response.status}`);
    this.status = response.status;
    this.code = body.code ?? "error";
    this.field = body.field;
    this.requestId = response.headers.get("x-request-id") ?? undefined;
    const seconds = response.headers.get("retry-after");
    this.retryAfter = seconds === null ? undefined : Number(seconds);
  }
}

type Api = Client<paths, "application/json">;
type Method = "get" | "post" | "put" | "patch" | "delete";
type Path<M extends Method> = ClientPathsWithMethod<Api, M>;
/** The request's `params`, `body`, `headers` and `signal`; it may be left out where the route requires none of them. */
type Init<M extends Method, P extends Path<M>> =
  undefined extends MaybeOptionalInit<paths[P], M>
    ? [init?: MaybeOptionalInit<paths[P], M>]
    : [init: MaybeOptionalInit<paths[P], M>];
type Result<M extends Method, P extends Path<M>> = MethodResponse<Api, M, P>;

/** The routes whose success response has the given media type. */
type Streams<M extends Method, Media extends string> = {
  [P in Path<M>]: paths[P] extends Record<M, { responses: { 200: { content: Record<Media, unknown> } } }> ? P : never;
}[Path<M>];

type UntypedRequest = (method: string, path: string, init: object) => Promise<{ data?: unknown }>;

export class Recollect {
  /** The openapi-fetch client behind the methods, for responses with their status and headers, or for middleware. */
  readonly api: Api;

  constructor({ url, key, user, headers, fetch }: Settings) {
    this.api = createClient<paths, "application/json">({
      baseUrl: url.replace(/\/+$/, ""),
      headers: {
        ...(user ? { "x-user-id": user } : {}),
        ...headers,
        ...(key ? { authorization: `Bearer ${key}` } : {}),
      },
      bodySerializer: serializeBody,
      ...(fetch ? { fetch } : {}),
    });
    this.api.use({ onResponse: ({ response }) => throwError(response) });
  }

  get<P extends Path<"get">>(path: P, ...[init]: Init<"get", P>): Promise<Result<"get", P>> {
    return this.#request("get", path, init) as Promise<Result<"get", P>>;
  }

  post<P extends Path<"post">>(path: P, ...[init]: Init<"post", P>): Promise<Result<"post", P>> {
    return this.#request("post", path, init) as Promise<Result<"post", P>>;
  }

  put<P extends Path<"put">>(path: P, ...[init]: Init<"put", P>): Promise<Result<"put", P>> {
    return this.#request("put", path, init) as Promise<Result<"put", P>>;
  }

  patch<P extends Path<"patch">>(path: P, ...[init]: Init<"patch", P>): Promise<Result<"patch", P>> {
    return this.#request("patch", path, init) as Promise<Result<"patch", P>>;
  }

  delete<P extends Path<"delete">>(path: P, ...[init]: Init<"delete", P>): Promise<Result<"delete", P>> {
    return this.#request("delete", path, init) as Promise<Result<"delete", P>>;
  }

  /** Yield the server-sent events of a POST route, such as `/chat`, as they arrive. */
  async *events<P extends Streams<"post", "text/event-stream">>(
    path: P,
    ...[init]: Init<"post", P>
  ): AsyncGenerator<ServerEvent, void, undefined> {
    const { body } = init as { body: object };
    const response = await this.#stream("post", path, { ...init, body: { ...body, stream: true } });
    const messages = response.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const { event = "message", data } of iterate(messages)) yield { event, data };
  }

  /** Yield the pieces of a text response as they arrive. */
  async *text<M extends "get" | "post", P extends Streams<M, "text/plain">>(
    method: M,
    path: P,
    ...[init]: Init<M, P>
  ): AsyncGenerator<string, void, undefined> {
    yield* iterate((await this.#stream(method, path, init)).pipeThrough(new TextDecoderStream()));
  }

  /** Yield the objects of a response with one JSON object per line, such as `/v1/export`. */
  async *lines<P extends Streams<"get", "application/x-ndjson">>(
    path: P,
    ...[init]: Init<"get", P>
  ): AsyncGenerator<unknown, void, undefined> {
    let rest = "";
    for await (const piece of iterate((await this.#stream("get", path, init)).pipeThrough(new TextDecoderStream()))) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim()) yield JSON.parse(line);
    }
    if (rest.trim()) yield JSON.parse(rest);
  }

  // The public methods check path and init. Inside, a generic method and path are too much for the compiler to resolve.
  async #request(method: Method, path: string, init: object = {}): Promise<unknown> {
    return (await (this.api.request as UntypedRequest)(method, path, init)).data;
  }

  async #stream(method: Method, path: string, init: object = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const body = await this.#request(method, path, { ...init, parseAs: "stream" });
    return (body ?? new Blob().stream()) as ReadableStream<Uint8Array<ArrayBuffer>>;
  }
}

/** Send a body that has a file in it as a form, any other as JSON. */
function serializeBody(body: unknown): string | FormData {
  const fields = Object.entries(body ?? {});
  if (!fields.some(([, value]) => value instanceof Blob)) return defaultBodySerializer(body);
  const form = new FormData();
  for (const [name, value] of fields) {
    if (value !== undefined) form.set(name, value instanceof Blob ? value : String(value));
  }
  return form;
}

async function throwError(response: Response): Promise<undefined> {
  if (response.ok) return;
  const text = await response.text();
  let body: { code?: string; message?: string; field?: string } = {};
  try {
    body = JSON.parse(text).error ?? {};
  } catch {
    // A proxy between the client and the server answered.
    if (text) body = { message: text.slice(0, 500) };
  }
  throw new RecollectError(response, body);
}

/** Yield what a stream contains. Safari has no async iteration of streams. Leaving the loop closes the connection. */
async function* iterate<T>(stream: ReadableStream<T>): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
