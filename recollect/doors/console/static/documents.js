// The documents room's comfort: files dropped in and seen on their way, the answer added where it was asked, ticks and
// opened sheets kept while the shelf is looked at again.
"use strict";

(() => {
  const { put, ready, parsed, PIECE } = window.recollect;
  const upload = document.getElementById("upload");
  const place = document.getElementById("shelf-place");
  const news = document.getElementById("shelf-news");
  const form = document.getElementById("ask");
  const box = document.getElementById("question");
  const talk = document.getElementById("exchanges");
  document.documentElement.classList.add("scripted");

  // What a refusal says, without the page around it.
  function wordsOf(html) {
    return parsed(html).querySelector(".problem, [role=alert]")?.textContent.trim() || "The server refused it. Reload the page.";
  }

  // Uploads: one after the other, each with its progress.
  const waiting = [];
  let isSending = false;

  function add(files) {
    const shared = upload.elements.shared ? upload.elements.shared.value : "";
    for (const file of files) waiting.push({ file, shared, row: rowFor(file) });
    upload.reset();
    next();
  }

  function rowFor(file) {
    const list = document.getElementById("sending");
    const row = list.appendChild(document.createElement("li"));
    const name = row.appendChild(document.createElement("bdi"));
    name.className = "name";
    name.textContent = file.name;
    const stop = row.appendChild(document.createElement("button"));
    stop.type = "button";
    stop.textContent = "Cancel";
    stop.setAttribute("aria-label", `Cancel ${file.name}`);
    const bar = row.appendChild(document.createElement("progress"));
    bar.max = 100;
    bar.value = 0;
    bar.setAttribute("aria-label", `Sent of ${file.name}`);
    stop.addEventListener("click", () => gone(row));
    list.hidden = false;
    return row;
  }

  function gone(row) {
    row.dispatchEvent(new Event("gone"));
    row.remove();
    const list = document.getElementById("sending");
    list.hidden = !list.children.length;
  }

  function refuse(row, words) {
    row.querySelector("progress").remove();
    row.querySelector("button").textContent = "Dismiss";
    const told = row.appendChild(document.createElement("p"));
    told.className = "problem";
    told.setAttribute("role", "alert");
    told.textContent = words;
  }

  async function next() {
    if (isSending) return;
    isSending = true;
    while (waiting.length) {
      const { file, shared, row } = waiting.shift();
      if (row.isConnected) await send(file, shared, row);
    }
    isSending = false;
  }

  function send(file, shared, row) {
    if (file.size > Number(upload.dataset.most)) {
      refuse(row, `The file is larger than ${upload.dataset.mostWords}. Split it and add the parts.`);
      return Promise.resolve();
    }
    const body = new FormData();
    body.append("token", upload.elements.token.value);
    if (shared) body.append("shared", shared);
    body.append("file", file);
    return new Promise((over) => {
      const request = new XMLHttpRequest();
      request.open("POST", upload.action);
      request.setRequestHeader("X-Piece", PIECE["X-Piece"]);
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) row.querySelector("progress").value = (100 * event.loaded) / event.total;
      });
      request.addEventListener("load", () => taken(request, row, file));
      request.addEventListener("error", () => refuse(row, "It did not arrive: the server does not answer. Add it again."));
      request.addEventListener("loadend", over);
      row.addEventListener("gone", () => request.abort());
      request.send(body);
    });
  }

  function taken(request, row, file) {
    const html = request.responseText; // gone once the row is: that aborts the request
    if (request.status !== 200) return refuse(row, wordsOf(html));
    gone(row);
    news.textContent = `${file.name} is taken in and being read.`;
    put(place, html, false);
    if (talk.querySelector(".empty form")) talk.querySelector(".empty").hidden = true;
  }

  // The shelf is put anew while documents are read; what a person did in it stays.
  let held = "";
  place.addEventListener("focusin", (event) => (held = keyOf(event.target)));
  place.addEventListener("focusout", (event) => event.target.isConnected && event.relatedTarget && (held = ""));

  document.addEventListener("pointerdown", (event) => place.contains(event.target) || (held = ""));

  function keyOf(element) {
    const row = element.closest(".shelved");
    if (!row) return "";
    return `#${CSS.escape(row.id)} ${element.id ? `#${CSS.escape(element.id)}` : element.localName}`;
  }

  function carry(old, made) {
    old.querySelectorAll("input[name=document]:checked").forEach((ticked) => {
      const again = made.querySelector(`#${CSS.escape(ticked.id)}`);
      if (again) again.checked = true;
    });
    old.querySelectorAll(".shelved details[open]").forEach((open) => {
      const again = made.querySelector(`#${CSS.escape(open.closest(".shelved").id)} details`);
      if (again) again.open = true;
    });
    old.querySelectorAll(".shelved").forEach((row) => {
      const again = made.querySelector(`#${CSS.escape(row.id)}`);
      if (again && again.dataset.state !== row.dataset.state) tell(again);
    });
    if (held && document.activeElement === document.body) made.querySelector(held)?.focus({ preventScroll: true });
    count();
  }

  function tell(row) {
    const words = { processed: "is ready", failed: "could not be read", processing: "is being read" };
    news.textContent = `${row.querySelector(".title bdi:last-of-type")?.textContent} ${words[row.dataset.state] || ""}`;
  }

  new MutationObserver((records) => {
    const found = (side) => records.flatMap((each) => [...each[side]]).find((node) => node.id === "shelf");
    const old = found("removedNodes");
    const made = document.getElementById("shelf");
    if (old && made) carry(old, made);
  }).observe(place, { childList: true });

  function count() {
    const all = place.querySelectorAll("input[name=document]");
    const ticked = place.querySelectorAll("input[name=document]:checked");
    const told = document.getElementById("asks-what");
    const words = ticked.length ? `Asks only the ${ticked.length} ticked of ${all.length} documents.` : "Asks all documents. Tick some to ask only those.";
    if (told.textContent !== words) told.textContent = words;
  }

  // Asking
  function draft(text) {
    const made = document.createElement("article");
    made.className = "asked";
    for (const [kind, words] of [["question", text], ["card answer", "…"]]) {
      const part = made.appendChild(document.createElement("div"));
      part.className = kind;
      const told = part.appendChild(document.createElement("p"));
      told.className = "text";
      told.textContent = words;
    }
    talk.append(made);
    made.scrollIntoView({ block: "nearest" });
    return made;
  }

  function finish(made, html) {
    const told = parsed(html).firstElementChild;
    const { session } = told.dataset;
    talk.querySelector(".empty")?.remove();
    made.replaceWith(told);
    if (!form.elements.session.value) document.querySelector("h1").textContent = told.querySelector(".text").textContent;
    form.elements.session.value = session;
    history.replaceState(null, "", `/console/documents?session=${encodeURIComponent(session)}`);
    document.getElementById("new-topic").hidden = false;
    ready(talk);
    told.scrollIntoView({ block: "nearest" });
  }

  function fail(made, words, text) {
    made.remove();
    const problem = document.getElementById("ask-problem");
    problem.textContent = words;
    problem.hidden = false;
    box.value = text;
  }

  async function ask(event) {
    event.preventDefault();
    const text = event.submitter?.value || box.value.trim();
    if (!text || form.classList.contains("busy")) return;
    const body = new FormData(form);
    body.set("question", text);
    const made = draft(text);
    document.getElementById("ask-problem").hidden = true;
    form.classList.add("busy");
    box.value = "";
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: PIECE });
      const html = await answer.text();
      if (answer.ok) finish(made, html);
      else fail(made, wordsOf(html), text);
    } catch {
      fail(made, "The server does not answer. Try again.", text);
    } finally {
      form.classList.remove("busy");
      box.focus();
    }
  }

  async function load(basis) {
    const address = basis.dataset.lazy;
    if (!address) return;
    delete basis.dataset.lazy;
    const answer = await fetch(address, { headers: PIECE });
    put(basis.querySelector("div"), await answer.text(), false);
  }

  form.addEventListener("submit", ask);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  document.addEventListener("toggle", (event) => event.target.matches?.("details.basis[open]") && load(event.target), true);
  document.addEventListener("change", (event) => event.target.matches("input[name=document]") && count());
  count();
  if (!upload) return;

  upload.addEventListener("submit", (event) => {
    event.preventDefault();
    add([...upload.elements.files.files]);
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-choose]")) return;
    event.preventDefault();
    upload.elements.files.focus();
    upload.elements.files.click();
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      upload.classList.toggle("over", name === "dragover");
      if (name === "drop") add([...event.dataTransfer.files]);
    });
  }
})();
