// Ask a database: adds an answer to the open page; Enter sends the question.
"use strict";

(() => {
  const form = document.getElementById("ask");
  const box = document.getElementById("question");
  const list = document.getElementById("exchanges");
  const status = document.getElementById("asking-status");
  const { ready, parse, FRAGMENT } = window.recollect;
  if (!form) return;

  function addDraft(text) {
    const made = document.createElement("article");
    made.className = "asked pending";
    made.tabIndex = -1;
    made.appendChild(document.createElement("h2")).textContent = text;
    const card = made.appendChild(document.createElement("div"));
    card.className = "answer card";
    const words = card.appendChild(document.createElement("p"));
    words.className = "lead-text";
    words.textContent = "Searching …";
    list.querySelector(".empty")?.remove();
    list.append(made);
    made.scrollIntoView({ block: "nearest" });
    return { made, words };
  }

  function showAnswer(made, html) {
    const answer = parse(html).querySelector("article.asked");
    list.querySelectorAll(".asked > form[data-ask]").forEach((old) => old.remove()); // suggestions of the previous answer
    made.replaceWith(answer);
    ready(list);
    const session = answer.dataset.session;
    if (session) {
      form.elements.session.value = session;
      const query = new URLSearchParams({ source: form.elements.source.value, session });
      history.replaceState(null, "", `/console/ask?${query}`);
    }
    const open = answer.querySelector(".open h3");
    const text = answer.querySelector(".lead-text, .problem")?.textContent ?? "";
    status.textContent = open ? `One question first: ${open.textContent}` : `Answered: ${text}`;
    return answer;
  }

  function closeClarification(open) {
    const note = document.createElement("p");
    note.className = "small quiet";
    note.textContent = "Answered below.";
    open?.querySelectorAll("form").forEach((old) => old.remove());
    open?.append(note);
  }

  async function ask(asked, submitter) {
    const body = new FormData(asked, submitter);
    body.set("session", form.elements.session.value);
    const text = asked.dataset.ask || body.get("question") || submitter?.textContent || "";
    const { made, words } = addDraft(text.trim());
    document.body.classList.add("asking-now");
    status.textContent = "Searching …";
    if (asked === form) box.value = "";
    let shown = made;
    try {
      const answer = await fetch(asked.action, { method: "POST", body, headers: FRAGMENT });
      const html = await answer.text();
      if (!answer.ok) throw new Error(parse(html).querySelector(".problem")?.textContent.trim());
      shown = showAnswer(made, html);
      if (asked.dataset.ask) closeClarification(asked.closest(".open"));
    } catch (problem) {
      words.className = "problem";
      words.textContent = problem instanceof TypeError ? "The server did not respond. Try again." : problem.message;
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
