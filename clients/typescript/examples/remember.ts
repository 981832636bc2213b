/**
 * What was said on Monday is known on Tuesday: record, a new session, its context, a chat, and why it knew.
 *
 *     recollect serve
 *     node clients/typescript/examples/remember.ts http://localhost:8008
 */
import { Recollect, RecollectError } from "../src/index.ts";

const url = process.argv[2] ?? "http://localhost:8008";
const key = process.env["RECOLLECT_KEY"];
const memory = new Recollect({ url, user: "alex", ...(key ? { key } : {}) });

const recorded = await memory.record(
  {
    session: "monday",
    turns: [
      { role: "user", text: "The launch is in Lisbon, on the third of June." },
      { role: "assistant", text: "Noted." },
    ],
  },
  { idempotencyKey: "monday-1" },
);
console.log("recorded", recorded.refs.join(" "));

const context = await memory.context({ session: "tuesday", text: "Where is the launch?" });
console.log(context.text);

const answer = await memory.chat({ message: "Where is the launch?" });
console.log("chat in", answer.session_id === "monday" ? "the old session" : "a new session");
console.log("it used", answer.memory.sources.join(" "));

for await (const event of memory.chatStream({ message: "And when is it?", session_id: answer.session_id })) {
  if (event.event === "done") console.log("streamed", JSON.parse(event.data).session_id === answer.session_id);
}

const why = await memory.explain(context.request_id);
for (const hit of why.hits) console.log("because", hit.source, hit.why);

try {
  await memory.context({ text: "" });
} catch (error) {
  if (!(error instanceof RecollectError)) throw error;
  console.log("refused", error.status, error.code, error.field, error.message);
}
