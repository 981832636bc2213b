// The ask room's comfort: an answer comes into the page that is open; Enter asks.
"use strict";

(() => {
  const form = document.getElementById("ask");
  const box = document.getElementById("question");
  const list = document.getElementById("exchanges");
  const status = document.getElementById("asking-status");
  const { ready, parsed, PIECE } = window.recollect;
  if (!form) return;

  function draft(text) {
    const made = document.createElement("article");
    made.className = "asked pending";
    made.tabIndex = -1;
    made.appendChild(document.createElement("h2")).textContent = text;
    const card = made.appendChild(document.createElement("div"));
    card.className = "answer card";
    const words = card.appendChild(document.createElement("p"));
    words.className = "lead-text";
    words.textContent = "Looking …";
    list.querySelector(".empty")?.remove();
    list.append(made);
    made.scrollIntoView({ block: "nearest" });
    return { made, words };
  }

  function finish(made, html) {
    const answer = parsed(html).querySelector("article.asked");
    list.querySelectorAll(".asked > form[data-ask]").forEach((old) => old.remove()); // what went on from the last one
    list.querySelectorAll(".statement").forEach((old) => (old.open = false));
    made.replaceWith(answer);
    ready(list);
    const session = answer.dataset.session;
    if (session) {
      form.elements.session.value = session;
      const query = new URLSearchParams({ source: form.elements.source.value, session });
      history.replaceState(null, "", `/console/ask?${query}`);
    }
    status.textContent = `Answered: ${answer.querySelector(".lead-text, .problem")?.textContent ?? ""}`;
    return answer;
  }

  function settle(open) {
    const told = document.createElement("p");
    told.className = "small quiet";
    told.textContent = "Asked again below.";
    open?.querySelectorAll("form").forEach((old) => old.remove());
    open?.append(told);
  }

  async function ask(asked, submitter) {
    const body = new FormData(asked, submitter);
    body.set("session", form.elements.session.value);
    const text = asked.dataset.ask || body.get("question") || submitter?.textContent || "";
    const { made, words } = draft(text.trim());
    document.body.classList.add("asking-now");
    status.textContent = "Looking …";
    if (asked === form) box.value = "";
    let shown = made;
    try {
      const answer = await fetch(asked.action, { method: "POST", body, headers: PIECE });
      const html = await answer.text();
      if (!answer.ok) throw new Error(parsed(html).querySelector(".problem")?.textContent.trim());
      shown = finish(made, html);
      if (asked.dataset.ask) settle(asked.closest(".open"));
    } catch (problem) {
      words.className = "problem";
      words.textContent = problem.message || "The server does not answer. Try again.";
      status.textContent = words.textContent;
      made.classList.remove("pending");
      if (asked === form && !box.value) box.value = text;
    } finally {
      document.body.classList.remove("asking-now");
      (asked === form ? box : shown).focus({ preventScroll: true });
      shown.scrollIntoView({ block: "start" });
    }
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-ask]")) return;
    event.preventDefault();
    if (!document.body.classList.contains("asking-now")) ask(event.target, event.submitter);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  (document.querySelector(":target") || list.querySelector("article:last-child"))?.scrollIntoView({ block: "nearest" });
})();
