// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of functions with search, sort and filter: only the rows in sight are elements.
import { patternOf } from "./code.js";
import { make, nameElement, noteState } from "./dom.js";
import { numberText, visible } from "./format.js";

export const SEARCH_HINT = "names, 0x…, /pattern/";

// table: columns, each with id, label, text(i), order() and down; filters with id, label and fits(i);
// count, how many functions there are; start, the state at first; nameFilter(text); href(i) of its page;
// style: more classes.
export class Grid {
  constructor(section, table) {
    this.table = table;
    this.state = {q: "", up: "", ...table.start};
    this.rows = new Uint32Array(0);
    this.active = 0;
    section.querySelector(".static")?.remove();
    this.search = make("input", {type: "search", id: "search", autocomplete: "off", spellcheck: "false",
                                 placeholder: SEARCH_HINT, input: () => this.searchSoon()});
    this.filter = make("select", {id: "filter", change: () => this.change({filter: this.filter.value})},
                       table.filters.map((f) => make("option", {value: f.id}, f.label)));
    this.count = make("p", {class: "remark", role: "status"});
    this.head = make("div", {role: "row", class: "row head", "aria-rowindex": "1"},
                     table.columns.map((column) => this.makeHeader(column)));
    this.body = make("div", {role: "rowgroup", class: "body"});
    this.view = make("div", {class: "table " + (table.style ?? ""), role: "grid", tabindex: "0", "aria-label": "Functions",
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
    if (!this.table.filters.some((f) => f.id === this.state.filter))
      this.state.filter = "all";
    this.search.value = this.state.q;
    this.filter.value = this.state.filter;
    this.update();
    this.draw();
    if (q === undefined && !filter && !sort)
      noteState("functions", this.state);
  }

  // The height of a row, which has two lines on a phone.
  get tall() {
    return parseFloat(getComputedStyle(this.view).getPropertyValue("--row"));
  }

  update() {
    const {q, filter, sort, up} = this.state, {columns, count, filters} = this.table;
    const column = columns.find((c) => c.id === sort) ?? columns[1];
    const fits = filters.find((f) => f.id === filter).fits;
    const hasName = q ? this.table.nameFilter(q) : () => true;
    const rows = [];
    for (let i = 0; i < count; i++)
      if (fits(i) && hasName(i))
        rows.push(i);
    const order = column.order(), sign = Boolean(column.down) === Boolean(up) ? 1 : -1;
    this.rows = Uint32Array.from(rows).sort((a, b) => sign * order(a, b) || a - b);
    const isWrong = patternOf(q) === null;
    this.search.setAttribute("aria-invalid", isWrong);
    this.count.textContent = isWrong ? `${q} is no regular expression` : `${numberText(rows.length)} of ${numberText(count)} functions`;
    this.view.setAttribute("aria-rowcount", rows.length + 1);
    this.body.replaceChildren();
    this.head.childNodes.forEach((header, i) => {
      const isSorted = columns[i] === column;
      header.setAttribute("aria-sort", !isSorted ? "none" : sign > 0 ? "ascending" : "descending");
    });
  }

  makeRow(at, tall) {
    const number = this.rows[at];
    const row = make("div", {role: "row", class: "row", "aria-rowindex": at + 2});
    for (const column of this.table.columns) {
      const text = column.text(number);
      const link = column.id === "name" &&
        make("a", {href: this.table.href(number), tabindex: "-1", title: visible(text)}, nameElement(text));
      row.append(make("div", {role: "gridcell", class: "cell " + column.id}, link || text));
    }
    row.classList.toggle("active", at === this.active);
    row.style.transform = `translateY(${at * tall}px)`;
    return row;
  }

  draw() {
    if (!this.view.clientHeight)
      return;
    const {tall} = this, height = this.rows.length * tall + "px";
    if (this.body.style.height !== height)
      this.body.style.height = height;
    const first = Math.max(0, Math.floor(this.view.scrollTop / tall) - 4);
    const end = Math.min(this.rows.length, first + Math.ceil(this.view.clientHeight / tall) + 8);
    const rows = [];
    for (let i = first; i < end; i++)
      rows.push(this.makeRow(i, tall));
    this.body.replaceChildren(...rows);
  }

  press(event) {
    if (event.target !== this.view)
      return;
    const row = this.tall, page = Math.max(1, Math.floor(this.view.clientHeight / row) - 2);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
                   Home: -this.rows.length, End: this.rows.length};
    if (event.key === "Enter" && this.rows.length)
      location.hash = this.table.href(this.rows[this.active]);
    if (!(event.key in steps))
      return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(this.rows.length - 1, this.active + steps[event.key]));
    const top = this.active * row, tall = this.view.clientHeight - this.head.offsetHeight - row;
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
