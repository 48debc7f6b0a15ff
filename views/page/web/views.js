// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One view at a time: the one that the address names.
import { byId, make, openState } from "./dom.js";

const views = {};
const pageTitle = document.title;
let loaded;

// Where each entry of the history was scrolled to, by its number, which is its state.
const scrolled = new Map();
let entry = 0, lastView;

function show(id) {
  for (const section of document.querySelectorAll("[data-view]"))
    section.hidden = section.id !== id;
  const marked = id === "function" ? "functions" : id;
  for (const link of document.querySelectorAll("nav a"))
    if (link.hash === "#" + marked)
      link.setAttribute("aria-current", "page");
    else
      link.removeAttribute("aria-current");
}

// makers: the class of each view but the summary; load() unpacks what all of them need.
async function open(makers, load) {
  const state = openState();
  const section = byId(state.view);
  const id = section?.hasAttribute("data-view") ? state.view : "summary";
  show(id);
  if (id === "summary") {
    document.title = pageTitle;
    return id;
  }
  section.setAttribute("aria-busy", "true");
  await (loaded ??= load());
  views[id] ??= new makers[id](section);
  if (openState().view === id)
    await views[id].open(state);
  section.removeAttribute("aria-busy");
  document.title = `${section.querySelector("h2").textContent} – ${pageTitle}`;
  return id;
}

// What had the focus may be gone with its view; then what is read next is the new view.
function moveFocus(id) {
  const active = document.activeElement;
  if (active && active !== document.body && active.checkVisibility())
    return;
  const title = byId(id).querySelector("h2");
  title.tabIndex = -1;
  title.focus({preventScroll: true});
}

// A new entry of the history begins at its top, unless it only shows more of the same view; an old one where it
// was left.
function noteEntry() {
  const isNew = history.state === null;
  entry = isNew ? Date.now() : history.state;
  if (isNew)
    history.replaceState(entry, "");
  return isNew ? 0 : scrolled.get(entry);
}

function report(error) {
  const text = "This page's data cannot be shown: " + (error?.message ?? error);
  byId("main").prepend(make("p", {class: "error", role: "alert"}, text));
  throw error;
}

export function start(makers, load) {
  document.documentElement.classList.add("has-scripts");
  addEventListener("hashchange", () => {
    if (location.hash === "#main")
      return;
    const wanted = noteEntry();
    open(makers, load).then((id) => {
      if (wanted !== undefined && (wanted > 0 || id === "function" || id !== lastView))
        scrollTo(0, wanted);
      lastView = id;
      moveFocus(id);
    }).catch(report);
  });
  addEventListener("scroll", () => scrolled.set(entry, scrollY), {passive: true});
  noteEntry();
  open(makers, load).then((id) => (lastView = id)).catch(report);
}
