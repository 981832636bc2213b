// Comfort for the rooms; every one of them works without it.
//   form[data-swap="#id"]   sends itself and puts the answer in place of #id
//   [data-poll="/address"]  looks again every second, until the answer has no such attribute
//   [data-submit-on]        a control that sends its form when it changes
"use strict";

const PIECE = { "X-Piece": "1" };

function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

function put(place, html, isProblem) {
  const made = parsed(html);
  if (isProblem) {
    place.querySelectorAll(":scope > .problem").forEach((old) => old.remove());
    place.prepend(...made.childNodes);
  } else {
    place.replaceChildren(...made.childNodes);
  }
  ready(place);
}

async function sent(form, submitter) {
  const body = new FormData(form, submitter);
  const answer = await fetch(form.action, { method: "POST", body, headers: PIECE, redirect: "follow" });
  return { html: await answer.text(), ok: answer.ok };
}

async function swap(event) {
  const form = event.target;
  const place = document.querySelector(form.dataset.swap);
  if (!place) return;
  event.preventDefault();
  form.classList.add("busy");
  try {
    const { html, ok } = await sent(form, event.submitter);
    put(place, html, !ok);
  } catch {
    put(place, '<p class="problem" role="alert">The server does not answer. Try again.</p>', true);
  } finally {
    form.classList.remove("busy");
  }
}

async function look(place) {
  if (!place.isConnected) return;
  try {
    const answer = await fetch(place.dataset.poll, { headers: PIECE });
    const made = parsed(await answer.text()).firstElementChild;
    if (!answer.ok || !made) return;
    place.replaceWith(made);
    ready(made.parentElement);
  } catch {
    setTimeout(() => look(place), 3000);
  }
}

function ready(root) {
  root.querySelectorAll("[data-poll]:not([data-seen])").forEach((place) => {
    place.dataset.seen = "1";
    setTimeout(() => look(place), Number(place.dataset.after || 1000));
  });
}

function closeSheets(event) {
  document.querySelectorAll("details.place[open], details.sure[open]").forEach((open) => {
    if (event.type === "keydown" ? event.key === "Escape" : !open.contains(event.target)) {
      open.open = false;
      if (event.type === "keydown") open.querySelector("summary").focus();
    }
  });
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-swap]")) swap(event);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit-on]")) event.target.form.requestSubmit();
});
document.addEventListener("click", closeSheets);
document.addEventListener("keydown", closeSheets);
ready(document);
document.querySelector(".rooms [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
window.recollect = { put, ready, parsed, PIECE };
