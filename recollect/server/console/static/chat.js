// Chat: streams the answer, loads its explanation when it is opened; Enter sends the message.
"use strict";

(() => {
  const form = document.getElementById("send");
  const box = document.getElementById("message");
  const talk = document.getElementById("exchanges");
  const { put, ready, parse, FRAGMENT } = window.recollect;

  function addMessage(role, text) {
    const made = document.createElement("article");
    made.className = `exchange by-${role}`;
    const message = made.appendChild(document.createElement("div"));
    message.className = "message";
    const words = message.appendChild(document.createElement("p"));
    words.className = "text";
    words.textContent = text;
    talk.querySelector(".welcome")?.remove();
    talk.append(made);
    made.scrollIntoView({ block: "nearest" });
    return { made, words };
  }

  async function* readEvents(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const [head, data] = part.split("\ndata: ");
        yield { name: head.replace("event: ", ""), data: JSON.parse(data) };
      }
    }
  }

  function showAnswer({ session, html, suggestions }, drafts) {
    drafts.forEach(({ made }) => made.remove());
    talk.append(...parse(html).children);
    form.elements.session.value = session;
    history.replaceState(null, "", `/console/chat?session=${encodeURIComponent(session)}`);
    document.getElementById("suggested")?.remove();
    if (suggestions.length) suggest(suggestions);
    ready(talk);
    loadOpen();
    refreshSessions(session);
    talk.lastElementChild.scrollIntoView({ block: "nearest" });
  }

  // Reloads the list of sessions and the heading.
  async function refreshSessions(session) {
    const answer = await fetch(`/console/chat?session=${encodeURIComponent(session)}`, { headers: FRAGMENT });
    const page = parse(await answer.text());
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
      button.dataset.send = button.textContent = text;
    }
    form.before(list);
  }

  async function send(event) {
    event.preventDefault();
    const text = box.value.trim();
    if (!text || form.classList.contains("busy")) return;
    const body = new FormData(form);
    const drafts = [addMessage("user", text), addMessage("assistant", "…")];
    form.classList.add("busy");
    box.value = "";
    try {
      const headers = { ...FRAGMENT, Accept: "text/event-stream" };
      const answer = await fetch(form.action, { method: "POST", body, headers });
      if (!answer.ok) throw new Error(parse(await answer.text()).textContent.trim());
      let reply = "";
      for await (const { name, data } of readEvents(answer)) {
        if (name === "done") showAnswer(data, drafts);
        else drafts[1].words.textContent = reply += data.text;
      }
    } catch (problem) {
      drafts[1].words.className = "problem";
      drafts[1].words.textContent = problem instanceof TypeError ? "The server did not respond. Try again." : problem.message;
      box.value = text;
    } finally {
      form.classList.remove("busy");
      box.focus({ preventScroll: true });
    }
  }

  function loadOpen() {
    document.querySelectorAll("details.why[data-lazy]").forEach((why) => {
      if (why.open) load(why);
    });
  }

  async function load(why) {
    const address = why.dataset.lazy;
    if (!address) return;
    delete why.dataset.lazy;
    const answer = await fetch(address, { headers: FRAGMENT });
    put(why.querySelector("div"), await answer.text(), false);
  }

  form.addEventListener("submit", send);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  document.addEventListener("toggle", (event) => event.target.matches?.("details.why[open]") && load(event.target), true);
  document.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-send]");
    if (!chip) return;
    box.value = chip.dataset.send;
    form.requestSubmit();
  });
  loadOpen();
  if (matchMedia("(min-width: 46rem)").matches) box.focus({ preventScroll: true }); // on a phone it would open the keyboard
  (document.querySelector(":target") || talk.querySelector(".exchange:last-child"))?.scrollIntoView({ block: "nearest" });
})();
