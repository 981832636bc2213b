/**
 * Record a message on Monday, use it in a new session on Tuesday, chat about it, and explain why it was recalled.
 *
 *     recollect serve
 *     node clients/typescript/examples/remember.ts http://localhost:8008
 */
import { Recollect, RecollectError } from "../src/index.ts";

const url = process.argv[2] ?? "http://localhost:8008";
const key = process.env["RECOLLECT_KEY"];
const memory = new Recollect({ url, user: "alex", ...(key ? { key } : {}) });

const recorded = await memory.post("/v1/record", {
  body: {
    session: "monday",
    turns: [
      { role: "user", text: "The launch is in Lisbon, on the third of June." },
      { role: "assistant", text: "Noted." },
    ],
  },
  headers: { "Idempotency-Key": "monday-1" },
});
console.log("recorded", recorded.refs.join(" "));

const context = await memory.post("/v1/context", { body: { session: "tuesday", text: "Where is the launch?" } });
console.log(context.text);

const answer = await memory.post("/chat", { body: { message: "Where is the launch?" } });
console.log("chat in", answer.session_id === "monday" ? "the old session" : "a new session");
console.log("it used", answer.memory.sources.join(" "));

const followUp = { message: "And when is it?", session_id: answer.session_id };
for await (const { event, data } of memory.events("/chat", { body: followUp })) {
  if (event === "done") console.log("streamed", JSON.parse(data).session_id === answer.session_id);
}

const why = await memory.get("/v1/explain/{request_id}", { params: { path: { request_id: context.request_id } } });
for (const hit of why.hits) console.log("because", hit.source, hit.why);

try {
  await memory.post("/v1/context", { body: { text: "" } });
} catch (error) {
  if (!(error instanceof RecollectError)) throw error;
  console.log("refused", error.status, error.code, error.field, error.message);
}
