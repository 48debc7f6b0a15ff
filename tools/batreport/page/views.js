// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One view at a time: the one that the address names.
import { byId, make, openState } from "./dom.js";

const views = {};
let loaded;

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
  if (id === "summary" && !location.hash.includes("?"))
    scrollTo(0, 0);
  if (id === "summary")
    return;
  section.setAttribute("aria-busy", "true");
  await (loaded ??= load());
  views[id] ??= new makers[id](section);
  if (openState().view === id)
    await views[id].open(state);
  section.removeAttribute("aria-busy");
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
    open(makers, load).then(() => {
      if (!location.hash.includes("?"))
        scrollTo(0, 0);
    }).catch(report);
  });
  open(makers, load).catch(report);
}
