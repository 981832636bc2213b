// The chat room's comfort: the answer as it is made, what it rests on when it is opened, Enter to send.
"use strict";

(() => {
  const form = document.getElementById("say");
  const box = document.getElementById("message");
  const talk = document.getElementById("exchanges");
  const { put, ready, parsed, PIECE } = window.recollect;

  function added(role, text) {
    const made = document.createElement("article");
    made.className = `exchange by-${role}`;
    const said = made.appendChild(document.createElement("div"));
    said.className = "said";
    const words = said.appendChild(document.createElement("p"));
    words.className = "text";
    words.textContent = text;
    talk.querySelector(".empty")?.remove();
    talk.append(made);
    made.scrollIntoView({ block: "nearest" });
    return { made, words };
  }

  async function* eventsOf(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let kept = "";
    for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
      const parts = (kept + value).split("\n\n");
      kept = parts.pop();
      for (const part of parts) {
        const [head, data] = part.split("\ndata: ");
        yield { name: head.replace("event: ", ""), data: JSON.parse(data) };
      }
    }
  }

  function finish({ session, html, suggestions }, drafts) {
    drafts.forEach(({ made }) => made.remove());
    talk.append(...parsed(html).children);
    form.elements.session.value = session;
    history.replaceState(null, "", `/console/chat?session=${encodeURIComponent(session)}`);
    document.getElementById("suggested")?.remove();
    if (suggestions.length) suggest(suggestions);
    ready(talk);
    lazy();
    around(session);
    talk.lastElementChild.scrollIntoView({ block: "nearest" });
  }

  // The list of sessions and the head, as the page would show them now.
  async function around(session) {
    const answer = await fetch(`/console/chat?session=${encodeURIComponent(session)}`, { headers: PIECE });
    const page = parsed(await answer.text());
    for (const part of [".sessions", ".head"]) {
      const [old, made] = [document.querySelector(part), page.querySelector(part)];
      if (answer.ok && old && made) old.replaceWith(made);
    }
  }

  function suggest(texts) {
    const list = document.createElement("ul");
    list.id = "suggested";
    list.className = "chips";
    for (const text of texts) {
      const button = list.appendChild(document.createElement("li")).appendChild(document.createElement("button"));
      button.type = "button";
      button.dataset.say = button.textContent = text;
    }
    form.before(list);
  }

  async function say(event) {
    event.preventDefault();
    const text = box.value.trim();
    if (!text || form.classList.contains("busy")) return;
    const body = new FormData(form);
    const drafts = [added("user", text), added("assistant", "…")];
    form.classList.add("busy");
    box.value = "";
    try {
      const headers = { ...PIECE, Accept: "text/event-stream" };
      const answer = await fetch(form.action, { method: "POST", body, headers });
      if (!answer.ok) throw new Error(parsed(await answer.text()).textContent.trim());
      let told = "";
      for await (const { name, data } of eventsOf(answer)) {
        if (name === "done") finish(data, drafts);
        else drafts[1].words.textContent = told += data.text;
      }
    } catch (problem) {
      drafts[1].words.className = "problem";
      drafts[1].words.textContent = problem.message || "The server does not answer.";
      box.value = text;
    } finally {
      form.classList.remove("busy");
      box.focus({ preventScroll: true });
    }
  }

  function lazy() {
    document.querySelectorAll("details.why[data-lazy]").forEach((why) => {
      if (why.open) load(why);
    });
  }

  async function load(why) {
    const address = why.dataset.lazy;
    if (!address) return;
    delete why.dataset.lazy;
    const answer = await fetch(address, { headers: PIECE });
    put(why.querySelector("div"), await answer.text(), false);
  }

  form.addEventListener("submit", say);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  document.addEventListener("toggle", (event) => event.target.matches?.("details.why[open]") && load(event.target), true);
  document.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-say]");
    if (!chip) return;
    box.value = chip.dataset.say;
    form.requestSubmit();
  });
  lazy();
  if (matchMedia("(min-width: 46rem)").matches) box.focus({ preventScroll: true }); // on a phone it would open the keyboard
  (document.querySelector(":target") || talk.querySelector(".exchange:last-child"))?.scrollIntoView({ block: "nearest" });
})();
