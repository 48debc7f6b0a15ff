// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call chains: callers above the functions that they call, or below them, or turned round; and as a table.
import { patternOf } from "./code.js";
import { loadStacks } from "./data.js";
import { make, makeCanvas, noteState } from "./dom.js";
import { fitText, numberText, shareText, visible } from "./format.js";
import { heatColor, heatOf, inkOnHeat, onColorsChange, styleColor } from "./heat.js";

const FRAME_ROW = 20;

// Functions that the table has.
const TABLE_ROWS = 50;

const stackViews = [["", "callers above"], ["flame", "callers below (flame graph)"], ["inverted", "by function, with its callers"]];

// The samples of each node that are of none of its children.
function ownCounts({depth, count}, parent) {
  const own = Float64Array.from(count);
  for (let i = 0; i < depth.length; i++)
    if (parent[i] >= 0)
      own[parent[i]] -= count[i];
  return own;
}

function parentsOf({depth}) {
  const parent = new Int32Array(depth.length), open = [];
  for (let i = 0; i < depth.length; i++) {
    open.length = Math.min(open.length, depth[i]);
    parent[i] = open.length ? open[open.length - 1] : -1;
    open.push(i);
  }
  return parent;
}

// The tree with the functions that have samples of their own on top, and their callers below.
function invert(tree) {
  const parent = parentsOf(tree), own = ownCounts(tree, parent);
  const names = [0], counts = [0], children = [new Map()];
  const childOf = (node, name) => {
    let child = children[node].get(name);
    if (child === undefined) {
      child = names.push(name) - 1;
      counts.push(0);
      children.push(new Map());
      children[node].set(name, child);
    }
    return child;
  };
  for (let i = 0; i < own.length; i++) {
    if (own[i] <= 0)
      continue;
    for (let at = 0, node = i; node >= 0; node = parent[node]) {
      at = childOf(at, tree.name[node]);
      counts[at] += own[i];
    }
  }
  const n = names.length - 1, turned = {depth: new Uint16Array(n), name: new Uint32Array(n), count: new Float64Array(n)};
  const sorted = (node) => [...children[node].values()].sort((a, b) => counts[a] - counts[b]);
  const left = sorted(0).map((node) => [node, 0]);
  for (let i = 0; left.length; i++) {
    const [node, depth] = left.pop();
    turned.depth[i] = depth;
    turned.name[i] = names[node];
    turned.count[i] = counts[node];
    for (const child of sorted(node))
      left.push([child, depth + 1]);
  }
  return turned;
}

// {name: [own samples, samples of all chains with it]}; of calls to itself a function has each sample once.
function sumsOf(tree) {
  const own = ownCounts(tree, parentsOf(tree)), sums = new Map(), open = [], held = new Map();
  for (let i = 0; i < own.length; i++) {
    while (open.length > tree.depth[i]) {
      const name = open.pop();
      held.set(name, held.get(name) - 1);
    }
    const name = tree.name[i], times = held.get(name) ?? 0, sum = sums.get(name) ?? [0, 0];
    sum[0] += own[i];
    sum[1] += times ? 0 : tree.count[i];
    sums.set(name, sum);
    held.set(name, times + 1);
    open.push(name);
  }
  return sums;
}

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
    this.select = make("select", {id: "stack-view", change: () => (location.hash = this.addressOf(-1))},
                       stackViews.map(([value, label]) => make("option", {value}, label)));
    this.path = make("p", {class: "path", role: "status"});
    this.table = make("div", {class: "cards"});
    this.frame = make("div", {class: "frame"});
    this.tip = make("div", {class: "tip", hidden: true});
    section.append(make("div", {class: "tools"}, make("button", {type: "button", click: () => this.go(-1)}, "Whole"),
                        make("span", {class: "field"}, make("label", {for: "stack-search"}, "Mark"), this.search),
                        make("span", {class: "field"}, make("label", {for: "stack-view"}, "Show"), this.select)), this.path, this.frame,
                   make("p", {class: "remark"}, "The width is the number of samples. A click shows a function and what it calls; " +
                        "with the keyboard, arrows go from function to function, enter shows one, escape goes back."), this.table);
  }

  // The table of the functions with most samples of their own.
  makeTable() {
    const rows = [...sumsOf(this.stacks)].sort(([, a], [, b]) => b[0] - a[0] || b[1] - a[1]);
    const cells = (count) => [make("td", {}, numberText(count)), make("td", {}, shareText(count, this.sum) || "0%")];
    return make("div", {class: "card"}, make("h3", {}, "Functions in call chains"), make("div", {class: "scroll"},
      make("table", {class: "rows", "aria-label": "Functions in call chains"},
        make("thead", {}, make("tr", {}, ["function", "own", "", "with callees", ""].map((head) =>
          (head ? make("th", {scope: "col"}, head) : make("td", {}))))),
        make("tbody", {}, rows.slice(0, TABLE_ROWS).map(([name, [own, all]]) => make("tr", {},
          make("th", {scope: "row"}, make("bdi", {}, visible(this.stacks.frames.get(name)))), cells(own), cells(all)))))),
      rows.length > TABLE_ROWS ? make("p", {class: "remark"}, `and ${numberText(rows.length - TABLE_ROWS)} more`) : null);
  }

  // Show the tree of a view.
  turn(view) {
    if (this.view === view)
      return;
    this.view = view;
    this.tree = view === "inverted" ? (this.inverted ??= invert(this.stacks)) : this.stacks;
    this.lay();
  }

  async open({n, q, v}) {
    const view = stackViews.some(([value]) => value === v) ? v : "";
    this.select.value = view;
    this.stacks ??= await loadStacks();
    this.turn(view);
    if (!this.canvas) {
      this.table.append(this.makeTable());
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
    this.top = n === undefined || !(n >= 0 && n < this.tree.depth.length) ? -1 : Number(n);
    this.focus = Math.max(0, this.top);
    this.say();
    this.ask();
    this.note();
  }

  // The start of each node, in samples, and where its descendants end. Nodes are in preorder.
  lay() {
    const {depth, count} = this.tree, n = depth.length;
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
    return this.top < 0 ? [0, this.sum] : [this.start[this.top], this.start[this.top] + this.tree.count[this.top]];
  }

  nameOf(node) {
    return visible(this.stacks.frames.get(this.tree.name[node]));
  }

  draw(context, width) {
    this.width = width;
    const {depth, count} = this.tree, [from, to] = this.range(), scale = width / (to - from);
    const text = styleColor("ink"), back = styleColor("back"), accent = styleColor("accent");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.boxes = [];
    for (let i = 0; i < depth.length;) {
      const left = Math.max(0, (this.start[i] - from) * scale);
      const right = Math.min(width, (this.start[i] + count[i] - from) * scale);
      if (right - left < 0.4) {
        i = this.end[i];
        continue;
      }
      const y = (this.view === "flame" ? this.depth - 1 - depth[i] : depth[i]) * FRAME_ROW;
      const isFound = this.found?.has(this.tree.name[i]);
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
    return `${numberText(this.tree.count[node])} samples, ${shareText(this.tree.count[node], this.sum)}`;
  }

  click(event) {
    const {node} = this.at(event);
    if (node >= 0)
      this.go(node);
  }

  addressOf(node) {
    const query = new URLSearchParams({...(node >= 0 && {n: node}), ...(this.search.value && {q: this.search.value}),
                                       ...(this.select.value && {v: this.select.value})}).toString();
    return "#stacks" + (query && "?" + query);
  }

  // Show a node and what it calls in the whole width: a step that the browser's Back takes back.
  go(node) {
    if (node !== this.top)
      location.hash = this.addressOf(node);
  }

  note() {
    noteState("stacks", {n: this.top < 0 ? undefined : this.top, q: this.search.value, v: this.view});
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
    const node = this.focus, {depth} = this.tree;
    const sibling = (step) => {
      for (let i = node + step; i >= 0 && i < depth.length && depth[i] >= depth[node]; i += step)
        if (depth[i] === depth[node])
          return i;
      return node;
    };
    const isFlame = this.view === "flame";
    const next = {
      [isFlame ? "ArrowUp" : "ArrowDown"]: () => (node + 1 < depth.length && depth[node + 1] > depth[node] ? node + 1 : node),
      [isFlame ? "ArrowDown" : "ArrowUp"]: () => Math.max(0, this.parent[node]),
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
