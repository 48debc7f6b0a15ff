// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of all functions: only the rows in sight are elements.
import { COLD, LEFT, PLT, addressOf, description, functions, inputAddressOf, nameFilter, nameOf, orderOfNames, pieces } from "./data.js";
import { byId, make, nameElement, noteState } from "./dom.js";
import { bytesText, hexText, numberText, shareText } from "./format.js";

const TABLE_ROW = 30;

const byMain = (array) => (a, b) => array[functions.main[a]] - array[functions.main[b]];
const by = (array) => (a, b) => array[a] - array[b];
const partCount = (i) => functions.firstPiece[i + 1] - functions.firstPiece[i];

// Columns: how a function is shown, and the order in which the column sorts.
const columns = [
  {id: "name", label: "Function", text: nameOf, order: () => orderOfNames()},
  {id: "samples", label: "Samples", down: true, text: (i) => numberText(functions.samples[i]),
   order: () => by(functions.samples)},
  {id: "share", label: "Share", down: true, order: () => by(functions.samples),
   text: (i) => shareText(functions.samples[i], description.samples)},
  {id: "bytes", label: "Bytes", down: true, text: (i) => numberText(functions.bytes[i]),
   order: () => by(functions.bytes)},
  {id: "cold", label: "Cold bytes", down: true, text: (i) => numberText(functions.coldBytes[i]),
   order: () => by(functions.coldBytes)},
  {id: "parts", label: "Parts", down: true, text: (i) => numberText(partCount(i)),
   order: () => (a, b) => partCount(a) - partCount(b)},
  {id: "blocks", label: "Blocks", down: true, text: (i) => numberText(functions.blockCount[i]),
   order: () => by(functions.blockCount)},
  {id: "input", label: "Address before", order: () => by(functions.inputStart),
   text: (i) => (functions.inputSection[i] < 0 ? "" : hexText(inputAddressOf(i)))},
  {id: "address", label: "Address after", text: (i) => hexText(addressOf(functions.main[i])),
   order: () => byMain(pieces.start)},
];

const filters = [
  {id: "all", label: "all functions", fits: () => true},
  {id: "samples", label: "with samples", fits: (i) => functions.samples[i] > 0},
  {id: "split", label: "split", fits: (i) => partCount(i) > 1},
  {id: "cold", label: "with samples in cold fragments", fits: hasColdSamples},
  {id: "reordered", label: "with blocks in a new order", fits: (i) => functions.isReordered[i]},
  {id: "left", label: "left in place", fits: (i) => pieces.kind[functions.main[i]] === LEFT},
  {id: "plt", label: "PLT entries", fits: (i) => pieces.kind[functions.main[i]] === PLT},
];

function hasColdSamples(number) {
  for (let i = functions.firstPiece[number]; i < functions.firstPiece[number + 1]; i++)
    if (pieces.kind[functions.pieces[i]] === COLD && pieces.samples[functions.pieces[i]] > 0)
      return true;
  return false;
}

export class FunctionTable {
  constructor(section) {
    this.state = {q: "", filter: description.hasProfile ? "samples" : "all",
                  sort: description.hasProfile ? "samples" : "name", up: ""};
    this.rows = new Uint32Array(0);
    this.active = 0;
    section.querySelector(".static")?.remove();
    this.search = make("input", {type: "search", id: "search", autocomplete: "off", spellcheck: "false",
                                 placeholder: "part of a name", input: () => this.searchSoon()});
    this.filter = make("select", {id: "filter", change: () => this.change({filter: this.filter.value})},
                       filters.map((f) => make("option", {value: f.id}, f.label)));
    this.count = make("p", {class: "remark", role: "status"});
    this.head = make("div", {role: "row", class: "row head", "aria-rowindex": "1"},
                     columns.map((column) => this.makeHeader(column)));
    this.body = make("div", {role: "rowgroup", class: "body"});
    this.view = make("div", {class: "table", role: "grid", tabindex: "0", "aria-label": "Functions",
                             scroll: () => this.draw(), keydown: (event) => this.press(event)},
                     make("div", {role: "rowgroup", class: "heads"}, this.head), this.body);
    section.append(make("div", {class: "tools"},
                        make("label", {for: "search"}, "Search"), this.search,
                        make("label", {for: "filter"}, "Show"), this.filter), this.count, this.view);
    new ResizeObserver(() => this.draw()).observe(this.view);
  }

  makeHeader(column) {
    return make("div", {role: "columnheader", class: "cell " + column.id},
                make("button", {type: "button", click: () => this.sortBy(column)}, column.label));
  }

  sortBy(column) {
    const isSame = this.state.sort === column.id;
    this.change({sort: column.id, up: isSame && !this.state.up ? "1" : ""});
  }

  searchSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.change({q: this.search.value}), 150);
  }

  // Take over some values of the state; then the address says them.
  change(values) {
    Object.assign(this.state, values);
    this.update();
    this.active = 0;
    this.view.scrollTop = 0;
    this.draw();
    noteState("functions", this.state);
  }

  // Open with the values of an address.
  open({q, filter, sort, up}) {
    if (q !== undefined || filter || sort)
      Object.assign(this.state, {q: q ?? "", filter: filter ?? this.state.filter,
                                 sort: sort ?? this.state.sort, up: up ?? ""});
    if (!filters.some((f) => f.id === this.state.filter))
      this.state.filter = "all";
    this.search.value = this.state.q;
    this.filter.value = this.state.filter;
    this.update();
    this.draw();
  }

  update() {
    const {q, filter, sort, up} = this.state;
    const column = columns.find((c) => c.id === sort) ?? columns[1];
    const fits = filters.find((f) => f.id === filter).fits;
    const hasName = q ? nameFilter(q) : () => true;
    const rows = [];
    for (let i = 0; i < description.functions; i++)
      if (fits(i) && hasName(i))
        rows.push(i);
    const order = column.order(), sign = Boolean(column.down) === Boolean(up) ? 1 : -1;
    this.rows = Uint32Array.from(rows).sort((a, b) => sign * order(a, b) || a - b);
    this.count.textContent = `${numberText(rows.length)} of ${numberText(description.functions)} functions`;
    this.view.setAttribute("aria-rowcount", rows.length + 1);
    this.body.style.height = rows.length * TABLE_ROW + "px";
    this.body.replaceChildren();
    this.head.childNodes.forEach((header, i) => {
      const isSorted = columns[i] === column;
      header.setAttribute("aria-sort", !isSorted ? "none" : sign > 0 ? "ascending" : "descending");
    });
  }

  makeRow(at) {
    const number = this.rows[at];
    const row = make("div", {role: "row", class: "row", "aria-rowindex": at + 2});
    for (const column of columns) {
      const text = column.text(number);
      const link = column.id === "name" &&
        make("a", {href: "#f=" + hexText(addressOf(functions.main[number])), tabindex: "-1"}, nameElement(text));
      row.append(make("div", {role: "gridcell", class: "cell " + column.id}, link || text));
    }
    row.classList.toggle("active", at === this.active);
    row.style.transform = `translateY(${at * TABLE_ROW}px)`;
    return row;
  }

  draw() {
    if (!this.view.clientHeight)
      return;
    const first = Math.max(0, Math.floor(this.view.scrollTop / TABLE_ROW) - 4);
    const end = Math.min(this.rows.length, first + Math.ceil(this.view.clientHeight / TABLE_ROW) + 8);
    const rows = [];
    for (let i = first; i < end; i++)
      rows.push(this.makeRow(i));
    this.body.replaceChildren(...rows);
  }

  press(event) {
    if (event.target !== this.view)
      return;
    const page = Math.max(1, Math.floor(this.view.clientHeight / TABLE_ROW) - 2);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
                   Home: -this.rows.length, End: this.rows.length};
    if (event.key === "Enter" && this.rows.length)
      location.hash = "f=" + hexText(addressOf(functions.main[this.rows[this.active]]));
    if (!(event.key in steps))
      return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + steps[event.key]));
    const top = this.active * TABLE_ROW, tall = this.view.clientHeight - 2 * TABLE_ROW;
    if (top < this.view.scrollTop)
      this.view.scrollTop = top;
    else if (top > this.view.scrollTop + tall)
      this.view.scrollTop = top - tall;
    this.draw();
    const cell = this.body.querySelector(".active");
    if (cell) {
      cell.id = "active-row";
      this.view.setAttribute("aria-activedescendant", "active-row");
    }
  }
}
