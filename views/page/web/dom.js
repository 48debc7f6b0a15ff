// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of the page. Text that comes from files becomes text nodes and nothing else.
import { visible } from "./format.js";

// An element with attributes and children; functions are listeners, strings become text.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  for (const child of children.flat())
    if (child !== null && child !== undefined)
      element.append(typeof child === "string" ? visible(child) : child);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function")
      element.addEventListener(name, value);
    else if (value !== false && value !== undefined)
      element.setAttribute(name, value === true ? "" : value);
  }
}

export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

// A name, whose direction of writing does not reach the text around it.
export function nameElement(name) {
  return make("bdi", {}, name);
}

// A term and what is said of it, for a "dl"; nothing if that is "".
export function fact(label, ...value) {
  return value.length && value[0] !== "" ? [make("dt", {}, label), make("dd", {}, ...value)] : [];
}

export function byId(id) {
  return document.getElementById(id);
}

// A canvas that fills its parent's width, and calls draw(context, width, height) when it has to.
export function makeCanvas(parent, height, attributes, draw) {
  const canvas = make("canvas", attributes);
  let isAsked = false;
  const ask = () => {
    if (isAsked)
      return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      const width = parent.clientWidth, scale = devicePixelRatio || 1, tall = height();
      if (!width)
        return;
      if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(tall * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(tall * scale);
        canvas.style.width = width + "px";
        canvas.style.height = tall + "px";
      }
      const context = canvas.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, tall);
      draw(context, width, tall);
    });
  };
  new ResizeObserver(ask).observe(parent);
  parent.append(canvas);
  return {canvas, ask};
}

// --- The address of what is open -----------------------------------------------------------------

// "#map?a=1-2" is {view: "map", a: "1-2"}; "#f=0x1" is {view: "function", f: "0x1"}.
export function openState() {
  const text = location.hash.slice(1);
  if (text.startsWith("f="))
    return {view: "function", ...Object.fromEntries(new URLSearchParams(text))};
  const [view, query] = text.split("?");
  return {...Object.fromEntries(new URLSearchParams(query ?? "")), view: view || "summary"};
}

// Say in the address what is open, without a new entry in the history. A view that is no longer open has no say.
export function noteState(view, values) {
  if (openState().view !== view)
    return;
  const query = new URLSearchParams(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== "")).toString();
  const address = "#" + (view === "function" ? query : view + (query && "?" + query));
  if (address !== location.hash)
    history.replaceState(history.state, "", address);
}
