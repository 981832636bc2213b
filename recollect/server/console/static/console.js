// Shared by all pages, which also work without it.
//   form[data-swap="#id"]   is sent in the background; its response replaces the content of #id
//   [data-poll="/address"]  is reloaded every second until the response has no such attribute
//   [data-submit-on]        a control that sends its form when it changes
"use strict";

const FRAGMENT = { "X-Piece": "1" };

function parse(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

function put(place, html, isProblem) {
  const made = parse(html);
  if (isProblem) {
    place.querySelectorAll(":scope > .problem").forEach((old) => old.remove());
    place.prepend(...made.childNodes);
  } else {
    place.replaceChildren(...made.childNodes);
  }
  ready(place);
}

async function send(form, submitter) {
  const body = new FormData(form, submitter);
  const answer = await fetch(form.action, { method: "POST", body, headers: FRAGMENT, redirect: "follow" });
  return { html: await answer.text(), ok: answer.ok };
}

async function swap(event) {
  const form = event.target;
  const place = document.querySelector(form.dataset.swap);
  if (!place) return;
  event.preventDefault();
  form.classList.add("busy");
  try {
    const { html, ok } = await send(form, event.submitter);
    put(place, html, !ok);
  } catch {
    put(place, '<p class="problem" role="alert">The server did not respond. Try again.</p>', true);
  } finally {
    form.classList.remove("busy");
  }
}

async function reload(place) {
  if (!place.isConnected) return;
  try {
    const answer = await fetch(place.dataset.poll, { headers: FRAGMENT });
    const made = parse(await answer.text()).firstElementChild;
    if (!answer.ok || !made) return;
    place.replaceWith(made);
    ready(made.parentElement);
  } catch {
    setTimeout(() => reload(place), 3000);
  }
}

function ready(root) {
  root.querySelectorAll("[data-poll]:not([data-seen])").forEach((place) => {
    place.dataset.seen = "1";
    setTimeout(() => reload(place), Number(place.dataset.after || 1000));
  });
}

function closeSheets(event) {
  document.querySelectorAll("details.selection[open], details.confirmation[open]").forEach((open) => {
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
document.querySelector(".navigation [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
const here = new URL(location.href);
if (here.searchParams.has("notice")) {
  here.searchParams.delete("notice"); // a reloaded page does not show it again
  history.replaceState(history.state, "", here);
}
window.recollect = { put, ready, parse, FRAGMENT };
