/** What the transport promises, against the server that RECOLLECT_URL names. tests/clients starts one and runs this. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Recollect, RecollectError } from "../src/index.ts";

const url = process.env["RECOLLECT_URL"] ?? "http://localhost:8008";
const memory = new Recollect({ url: `${url}/`, user: "dana" });
const said = { session: "a b?c%", turns: [{ role: "user" as const, text: "The code word is heron: 苍鹭." }] };

test("a key makes a request once, and a path may have spaces and marks in it", async () => {
  const first = await memory.record(said, { idempotencyKey: "once" });
  const again = await memory.record(said, { idempotencyKey: "once" });
  assert.deepEqual(again.refs, first.refs);
  assert.deepEqual(again.sessions.map((each) => each.replayed), [true]);
  const { turns } = await memory.chatSession("a b?c%");
  assert.deepEqual(turns.map((turn) => turn.text), ["The code word is heron: 苍鹭."]);
});

test("a refusal is an error with the fields of the envelope", async () => {
  await assert.rejects(memory.context({ text: "" }), (error) => {
    assert(error instanceof RecollectError);
    assert.deepEqual([error.status, error.code], [400, "invalid_request"]);
    assert.match(error.field ?? "", /text/);
    assert.match(error.message, /is empty/);
    assert(error.requestId);
    return true;
  });
});

test("another's words are not ours", async () => {
  const blake = new Recollect({ url, user: "blake" });
  assert.deepEqual((await blake.recall({ text: "the code word" })).hits, []);
});

test("events come in order, and the last one is the answer", async () => {
  const events = await Array.fromAsync(memory.chatStream({ message: "What is the code word?" }));
  const last = events.pop();
  assert.equal(last?.event, "done");
  assert(events.every((each) => each.event === "delta"));
  const pieces = events.map((each) => JSON.parse(each.data).text).join("");
  assert.equal(JSON.parse(last.data).response, pieces);
});

test("who stops listening, or aborts, is not kept waiting", async () => {
  for await (const event of memory.chatStream({ message: "Say it again." })) {
    assert(event.data);
    break;
  }
  const signal = AbortSignal.abort();
  await assert.rejects(memory.health({ signal }), { name: "AbortError" });
});

test("a file is uploaded as a form", async () => {
  const form = new FormData();
  form.set("file", new File(["Herons stand still."], "birds.txt"));
  const { document } = await memory.uploadDocument(form);
  assert.equal((await memory.showDocument(document.id)).source, "birds.txt");
});

test("lines are parsed one by one, and text comes as it is", async () => {
  const lines = await Array.fromAsync(memory.export());
  assert(lines.length > 1);
  assert(lines.every((line) => typeof line === "object"));
  const metrics = (await Array.fromAsync(memory.metrics())).join("");
  assert.match(metrics, /^# HELP /m);
});
