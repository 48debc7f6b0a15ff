// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call chains as an icicle: callers above, the functions that they call below.
import { patternOf } from "./code.js";
import { loadStacks } from "./data.js";
import { make, makeCanvas, noteState } from "./dom.js";
import { fitText, numberText, shareText, visible } from "./format.js";
import { heatColor, heatOf, inkOnHeat, onColorsChange, styleColor } from "./heat.js";
import { description } from "./packed.js";

const FRAME_ROW = 20;

export class Stacks {
  constructor(section) {
    this.section = section;
    this.top = -1; // the node that fills the width; -1 for all
    this.focus = 0;
    this.needle = "";
    this.build(section);
    onColorsChange(() => this.ask?.());
  }

  build(section) {
    this.search = make("input", {type: "search", id: "stack-search", autocomplete: "off", spellcheck: "false",
                                 input: () => this.mark()});
    this.path = make("p", {class: "path", role: "status"});
    this.frame = make("div", {class: "frame"});
    this.tip = make("div", {class: "tip", hidden: true});
    section.append(make("div", {class: "tools"}, make("button", {type: "button", click: () => this.go(-1)}, "Whole"),
                        make("span", {class: "field"}, make("label", {for: "stack-search"}, "Mark"), this.search)), this.path, this.frame,
                   make("p", {class: "remark"}, "The width is the number of samples. A click shows a function and what it calls; " +
                        "with the keyboard, arrows go from function to function, enter shows one, escape goes back."));
  }

  async open({n, q}) {
    if (!this.stacks) {
      this.stacks = await loadStacks();
      this.lay();
      const made = makeCanvas(this.frame, () => (this.depth + 1) * FRAME_ROW, {
        tabindex: "0", role: "application", "aria-label": "Icicle graph of call chains",
        pointermove: (e) => this.hover(e), pointerleave: () => (this.tip.hidden = true),
        click: (e) => this.click(e), keydown: (e) => this.key(e), focus: () => this.ask(), blur: () => this.ask()},
        (context, width) => this.draw(context, width));
      this.canvas = made.canvas;
      this.ask = made.ask;
      this.frame.append(this.tip);
    }
    if (q !== undefined || n !== undefined || !this.search.value) {
      this.search.value = q ?? "";
      this.find();
    }
    this.top = n === undefined || !(n >= 0 && n < description.nodes) ? -1 : Number(n);
    this.focus = Math.max(0, this.top);
    this.say();
    this.ask();
    this.note();
  }

  // The start of each node, in samples, and where its descendants end. Nodes are in preorder.
  lay() {
    const {depth, count} = this.stacks, n = description.nodes;
    this.start = new Float64Array(n);
    this.end = new Uint32Array(n).fill(n);
    this.parent = new Int32Array(n).fill(-1);
    this.depth = 0;
    this.sum = 0;
    const open = [], next = [0];
    for (let i = 0; i < n; i++) {
      while (open.length > depth[i])
        this.end[open.pop()] = i;
      this.parent[i] = open.length ? open[open.length - 1] : -1;
      this.start[i] = next[depth[i]];
      next[depth[i]] += count[i];
      next[depth[i] + 1] = this.start[i];
      open.push(i);
      this.depth = Math.max(this.depth, depth[i] + 1);
      if (depth[i] === 0)
        this.sum += count[i];
    }
  }

  range() {
    return this.top < 0 ? [0, this.sum] : [this.start[this.top], this.start[this.top] + this.stacks.count[this.top]];
  }

  nameOf(node) {
    return visible(this.stacks.frames.get(this.stacks.name[node]));
  }

  draw(context, width) {
    this.width = width;
    const {depth, count} = this.stacks, [from, to] = this.range(), scale = width / (to - from);
    const text = styleColor("ink"), back = styleColor("back"), accent = styleColor("accent");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.boxes = [];
    for (let i = 0; i < description.nodes;) {
      const left = Math.max(0, (this.start[i] - from) * scale);
      const right = Math.min(width, (this.start[i] + count[i] - from) * scale);
      if (right - left < 0.4) {
        i = this.end[i];
        continue;
      }
      const y = depth[i] * FRAME_ROW, isFound = this.found?.has(this.stacks.name[i]);
      const share = 0.12 + 0.5 * heatOf(count[i], this.sum);
      context.fillStyle = isFound ? accent : heatColor(share);
      context.fillRect(left, y, Math.max(0.6, right - left - 0.6), FRAME_ROW - 1);
      if (i === this.focus && document.activeElement === this.canvas) {
        context.strokeStyle = text;
        context.lineWidth = 2;
        context.strokeRect(left + 1, y + 1, Math.max(1, right - left - 2), FRAME_ROW - 3);
      }
      if (right - left > 30) {
        context.fillStyle = isFound ? back : inkOnHeat(share);
        context.fillText(fitText(context, this.nameOf(i), right - left - 8), left + 4, y + FRAME_ROW / 2);
      }
      this.boxes.push([i, left, right, y]);
      i++;
    }
    context.textBaseline = "alphabetic";
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const hit = this.boxes?.find(([, left, right, top]) => x >= left && x < right && y >= top && y < top + FRAME_ROW);
    return {x, y, node: hit ? hit[0] : -1};
  }

  hover(event) {
    const {x, y, node} = this.at(event);
    this.tip.hidden = node < 0;
    if (node < 0)
      return;
    this.tip.replaceChildren(make("strong", {}, make("bdi", {}, this.nameOf(node))), make("div", {}, this.countText(node)));
    this.tip.style.left = Math.max(0, Math.min(x + 12, this.width - this.tip.offsetWidth - 4)) + "px";
    this.tip.style.top = y + 16 + "px";
  }

  countText(node) {
    return `${numberText(this.stacks.count[node])} samples, ${shareText(this.stacks.count[node], this.sum)}`;
  }

  click(event) {
    const {node} = this.at(event);
    if (node >= 0)
      this.go(node);
  }

  addressOf(node) {
    const query = new URLSearchParams({...(node >= 0 && {n: node}), ...(this.search.value && {q: this.search.value})}).toString();
    return "#stacks" + (query && "?" + query);
  }

  // Show a node and what it calls in the whole width: a step that the browser's Back takes back.
  go(node) {
    if (node !== this.top)
      location.hash = this.addressOf(node);
  }

  note() {
    noteState("stacks", {n: this.top < 0 ? undefined : this.top, q: this.search.value});
  }

  say() {
    const chain = [];
    for (let node = this.focus; node >= 0; node = this.parent[node])
      chain.unshift(node);
    this.path.replaceChildren(...chain.flatMap((node, i) =>
      [i ? " › " : "", make("button", {type: "button", class: "link", click: () => this.go(node)}, make("bdi", {}, this.nameOf(node)))]),
      `: ${this.countText(this.focus)}`);
  }

  find() {
    const text = this.search.value.trim(), frames = this.stacks.frames, pattern = patternOf(text);
    const words = text.toLowerCase().split(/\s+/);
    const fits = (name) => (pattern === undefined ? words.every((word) => name.toLowerCase().includes(word)) : pattern?.test(name));
    this.found = text ? new Set() : null;
    for (let i = 0; text && i < frames.starts.length - 1; i++)
      if (fits(frames.get(i)))
        this.found.add(i);
    this.ask();
  }

  mark() {
    this.find();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.note(), 250);
  }

  key(event) {
    const node = this.focus, {depth} = this.stacks;
    const sibling = (step) => {
      for (let i = node + step; i >= 0 && i < description.nodes && depth[i] >= depth[node]; i += step)
        if (depth[i] === depth[node])
          return i;
      return node;
    };
    const next = {
      ArrowDown: () => (node + 1 < description.nodes && depth[node + 1] > depth[node] ? node + 1 : node),
      ArrowUp: () => Math.max(0, this.parent[node]),
      ArrowRight: () => sibling(1), ArrowLeft: () => sibling(-1),
    };
    if (event.key === "Enter") {
      this.go(node);
    } else if (event.key === "Escape") {
      this.go(this.top < 0 ? -1 : this.parent[this.top]);
    } else if (event.key in next) {
      this.focus = next[event.key]();
      this.say();
      this.ask();
    } else {
      return;
    }
    event.preventDefault();
  }
}
