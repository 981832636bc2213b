// Documents: uploads with progress, answers added to the open page; selections survive a reload of the list.
"use strict";

(() => {
  const { put, ready, parse, FRAGMENT } = window.recollect;
  const upload = document.getElementById("upload");
  const place = document.getElementById("document-place");
  const status = document.getElementById("document-status");
  const form = document.getElementById("ask");
  const box = document.getElementById("question");
  const talk = document.getElementById("exchanges");
  document.documentElement.classList.add("scripted");

  // The error message of a page.
  function readError(html) {
    return parse(html).querySelector(".problem, [role=alert]")?.textContent.trim() || "The server refused the request. Reload the page.";
  }

  // Uploads: one at a time, each with its progress.
  const waiting = [];
  let isSending = false;

  function add(files) {
    const shared = upload.elements.shared ? upload.elements.shared.value : "";
    for (const file of files) waiting.push({ file, shared, row: addRow(file) });
    upload.reset();
    next();
  }

  function addRow(file) {
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
    bar.setAttribute("aria-label", `Upload progress of ${file.name}`);
    stop.addEventListener("click", () => removeRow(row));
    list.hidden = false;
    return row;
  }

  function removeRow(row) {
    row.dispatchEvent(new Event("gone"));
    row.remove();
    const list = document.getElementById("sending");
    list.hidden = !list.children.length;
  }

  function showRefusal(row, words) {
    row.querySelector("progress").remove();
    row.querySelector("button").textContent = "Dismiss";
    const message = row.appendChild(document.createElement("p"));
    message.className = "problem";
    message.setAttribute("role", "alert");
    message.textContent = words;
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
    if (file.size > Number(upload.dataset.maxBytes)) {
      showRefusal(row, `The file is larger than ${upload.dataset.maxSize}. Split it and upload the parts.`);
      return Promise.resolve();
    }
    const body = new FormData();
    body.append("token", upload.elements.token.value);
    if (shared) body.append("shared", shared);
    body.append("file", file);
    return new Promise((over) => {
      const request = new XMLHttpRequest();
      request.open("POST", upload.action);
      request.setRequestHeader("X-Piece", FRAGMENT["X-Piece"]);
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) row.querySelector("progress").value = (100 * event.loaded) / event.total;
      });
      request.addEventListener("load", () => showUploaded(request, row, file));
      request.addEventListener("error", () => showRefusal(row, "The server did not respond. Upload the file again."));
      request.addEventListener("loadend", over);
      row.addEventListener("gone", () => request.abort());
      request.send(body);
    });
  }

  function showUploaded(request, row, file) {
    const html = request.responseText; // removing the row aborts the request and clears it
    if (request.status !== 200) return showRefusal(row, readError(html));
    removeRow(row);
    status.textContent = `${file.name} was uploaded and is being processed.`;
    put(place, html, false);
    if (talk.querySelector(".empty form")) talk.querySelector(".empty").hidden = true;
  }

  // The list is replaced while documents are processed; selections, open menus and the focus are restored.
  let held = "";
  place.addEventListener("focusin", (event) => (held = keyOf(event.target)));
  place.addEventListener("focusout", (event) => event.target.isConnected && event.relatedTarget && (held = ""));

  document.addEventListener("pointerdown", (event) => place.contains(event.target) || (held = ""));

  function keyOf(element) {
    const row = element.closest(".listed");
    if (!row) return "";
    return `#${CSS.escape(row.id)} ${element.id ? `#${CSS.escape(element.id)}` : element.localName}`;
  }

  function restore(old, made) {
    old.querySelectorAll("input[name=document]:checked").forEach((ticked) => {
      const again = made.querySelector(`#${CSS.escape(ticked.id)}`);
      if (again) again.checked = true;
    });
    old.querySelectorAll(".listed details[open]").forEach((open) => {
      const again = made.querySelector(`#${CSS.escape(open.closest(".listed").id)} details`);
      if (again) again.open = true;
    });
    old.querySelectorAll(".listed").forEach((row) => {
      const again = made.querySelector(`#${CSS.escape(row.id)}`);
      if (again && again.dataset.state !== row.dataset.state) announce(again);
    });
    if (held && document.activeElement === document.body) made.querySelector(held)?.focus({ preventScroll: true });
    count();
  }

  function announce(row) {
    const words = { processed: "is ready", failed: "could not be processed", processing: "is being processed" };
    status.textContent = `${row.querySelector(".title bdi:last-of-type")?.textContent} ${words[row.dataset.state] || ""}`;
  }

  new MutationObserver((records) => {
    const found = (side) => records.flatMap((each) => [...each[side]]).find((node) => node.id === "document-list");
    const old = found("removedNodes");
    const made = document.getElementById("document-list");
    if (old && made) restore(old, made);
  }).observe(place, { childList: true });

  function count() {
    const all = place.querySelectorAll("input[name=document]");
    const ticked = place.querySelectorAll("input[name=document]:checked");
    const scope = document.getElementById("search-scope");
    const words = ticked.length ? `Searches ${ticked.length} of ${all.length} documents.` : "Searches all documents. Select some to search only those.";
    if (scope.textContent !== words) scope.textContent = words;
  }

  // Asking
  function addDraft(text) {
    const made = document.createElement("article");
    made.className = "asked";
    for (const [kind, words] of [["question", text], ["card answer", "…"]]) {
      const part = made.appendChild(document.createElement("div"));
      part.className = kind;
      const text = part.appendChild(document.createElement("p"));
      text.className = "text";
      text.textContent = words;
    }
    talk.append(made);
    made.scrollIntoView({ block: "nearest" });
    return made;
  }

  function showAnswer(made, html) {
    const answer = parse(html).firstElementChild;
    const { session } = answer.dataset;
    talk.querySelector(".empty")?.remove();
    made.replaceWith(answer);
    if (!form.elements.session.value) document.querySelector("h1").textContent = answer.querySelector(".text").textContent;
    form.elements.session.value = session;
    history.replaceState(null, "", `/console/documents?session=${encodeURIComponent(session)}`);
    document.getElementById("new-topic").hidden = false;
    ready(talk);
    answer.scrollIntoView({ block: "nearest" });
  }

  function showError(made, words, text) {
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
    const made = addDraft(text);
    document.getElementById("ask-problem").hidden = true;
    form.classList.add("busy");
    box.value = "";
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: FRAGMENT });
      const html = await answer.text();
      if (answer.ok) showAnswer(made, html);
      else showError(made, readError(html), text);
    } catch {
      showError(made, "The server did not respond. Try again.", text);
    } finally {
      form.classList.remove("busy");
      box.focus();
    }
  }

  async function load(sources) {
    const address = sources.dataset.lazy;
    if (!address) return;
    delete sources.dataset.lazy;
    const answer = await fetch(address, { headers: FRAGMENT });
    put(sources.querySelector("div"), await answer.text(), false);
  }

  form.addEventListener("submit", ask);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  document.addEventListener("toggle", (event) => event.target.matches?.("details.sources[open]") && load(event.target), true);
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
