/** The client against the server at RECOLLECT_URL. tests/clients starts one and runs this file. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Recollect, RecollectError } from "../src/index.ts";

const url = process.env["RECOLLECT_URL"] ?? "http://localhost:8008";
const memory = new Recollect({ url: `${url}/`, user: "dana" });
const body = { session: "a b?c%", turns: [{ role: "user" as const, text: "The code word is heron: 苍鹭." }] };

test("an idempotency key prevents a second write, and path parameters are encoded", async () => {
  const once = { body, headers: { "Idempotency-Key": "once" } };
  const first = await memory.post("/v1/record", once);
  const second = await memory.post("/v1/record", once);
  assert.deepEqual(second.refs, first.refs);
  assert.deepEqual(second.sessions.map((session) => session.replayed), [true]);
  const path = { session_id: "a b?c%" };
  const { turns } = await memory.get("/chat/sessions/{session_id}", { params: { path } });
  assert.deepEqual(turns.map((turn) => turn.text), ["The code word is heron: 苍鹭."]);
});

test("an error response is thrown with the fields of its body", async () => {
  await assert.rejects(memory.post("/v1/context", { body: { text: "" } }), (error) => {
    assert(error instanceof RecollectError);
    assert.deepEqual([error.name, error.status, error.code], ["RecollectError", 400, "invalid_request"]);
    assert.match(error.field ?? "", /text/);
    assert.match(error.message, /is empty/);
    assert(error.requestId);
    return true;
  });
});

test("an error of a streaming route is thrown by the loop", async () => {
  await assert.rejects(Array.fromAsync(memory.events("/chat", { body: { message: "" } })), { status: 400 });
});

test("an error response that is not JSON keeps its text and the seconds to wait", async () => {
  const answer = async () => new Response("upstream is down", { status: 503, headers: { "retry-after": "7" } });
  const proxied = new Recollect({ url, fetch: answer });
  await assert.rejects(proxied.get("/health"), { status: 503, message: "upstream is down", retryAfter: 7 });
});

test("the key, the user and other headers are sent", async () => {
  let headers = new Headers();
  const answer = async (request: Request) => {
    headers = request.headers;
    return Response.json({});
  };
  const settings = { url, key: "k1", user: "dana", headers: { "x-trace": "t1" }, fetch: answer };
  await new Recollect(settings).get("/health", { headers: { "x-user-id": "blake" } });
  assert.deepEqual(
    ["authorization", "x-user-id", "x-trace"].map((name) => headers.get(name)),
    ["Bearer k1", "blake", "t1"],
  );
});

test("a user does not see another user's messages", async () => {
  const blake = new Recollect({ url, user: "blake" });
  assert.deepEqual((await blake.post("/v1/recall", { body: { text: "the code word" } })).hits, []);
});

test("events arrive in order, and the last one is the answer", async () => {
  const events = await Array.fromAsync(memory.events("/chat", { body: { message: "What is the code word?" } }));
  const last = events.pop();
  assert.equal(last?.event, "done");
  assert(events.every(({ event }) => event === "delta"));
  const pieces = events.map(({ data }) => JSON.parse(data).text).join("");
  assert.equal(JSON.parse(last.data).response, pieces);
});

test("a loop can be left early, and a request can be aborted", async () => {
  for await (const { data } of memory.events("/chat", { body: { message: "Say it again." } })) {
    assert(data);
    break;
  }
  await assert.rejects(memory.get("/health", { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a file is uploaded as a form", async () => {
  const file = new File(["Herons stand still."], "birds.txt");
  const { document } = await memory.post("/api/v1/upload-ask/documents", { body: { file, title: "Birds" } });
  const path = { id: document.id };
  const shown = await memory.get("/api/v1/upload-ask/documents/{id}", { params: { path } });
  assert.deepEqual([shown.source, shown.title], ["birds.txt", "Birds"]);
});

test("a route without a response body returns undefined", async () => {
  await memory.put("/v1/terms", { body: { name: "heron", kind: "glossary", description: "A bird." } });
  assert.equal(await memory.delete("/v1/terms/{name}", { params: { path: { name: "heron" } } }), undefined);
});

test("lines are parsed one by one, and text is not parsed", async () => {
  const lines = await Array.fromAsync(memory.lines("/v1/export"));
  assert(lines.length > 1);
  assert(lines.every((line) => typeof line === "object"));
  const metrics = (await Array.fromAsync(memory.text("get", "/metrics"))).join("");
  assert.match(metrics, /^# HELP /m);
});

test("the types refuse what the server would refuse", () => {
  () => [
    // @ts-expect-error: there is no such route
    memory.get("/v1/recall"),
    // @ts-expect-error: the body is required
    memory.post("/v1/recall"),
    // @ts-expect-error: text is a string
    memory.post("/v1/recall", { body: { text: 1 } }),
    // @ts-expect-error: this route sends no events
    memory.events("/v1/recall", { body: { text: "heron" } }),
  ];
});
