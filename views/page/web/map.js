// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The map: the code of two lanes to scale, one above the other, and lines between the places of one
// function.
import { make, makeCanvas, nameElement, noteState } from "./dom.js";
import { bytesText, fitText, hexText, numberText } from "./format.js";
import { SEARCH_HINT } from "./grid.js";
import { heatColor, heatOf, onColorsChange, styleColor } from "./heat.js";

export const HEAT = 84;
const AXIS = 18, BAND = 20, ARCS = 60;

// The lanes' distance, for the lines between them: less on a phone, and no more than the window has room for.
const JOINS_LEAST = 150, JOINS_MOST = 300, WIDE = 736;

// A block that was gone to with the keyboard is shown at least so wide, in pixels; else the lane shows eight times it.
const BLOCK_WIDTH = 12;

// Functions whose places are joined, at most.
const JOINED = 250;

// Blocks are drawn in items at least this wide, in pixels.
const BLOCKS_WIDTH = 24;

const kindColors = ["hot", "cold", "left", "plt"];

// code says what is on the map:
// - after, before: the lanes; before may be missing. names: what people call them, the upper one first;
// - order: numbers of functions, those first whose places are joined first;
// - mainItem(lane, number): the function's main item; -1 if it has none;
// - pairs(number): [item of before or -1, item of after], which are joined; joinStyle(number): color and alpha;
// - nameOf(number); keyOf(number), a text for addresses, and numberAt(text), -1 for a wrong one;
// - addressOf(lane, item, offset), placeName(lane, item), samplesOf(lane, item), describe(number): elements;
// - drawHeat(context, lane, rows, width), if something else is drawn in place of the heat; legend: more of it;
// - nameFilter(text) tells the functions that a search finds, of count;
// - state(): more values for the address, open(state) takes them; tools: more elements; remark.
export class CodeMap {
  constructor(section, code) {
    this.code = code;
    this.after = code.after;
    this.before = code.before;
    this.lanes = this.before ? [this.before, this.after] : [this.after];
    this.selected = -1;
    this.hovered = null;
    this.focused = {lane: this.after, item: -1};
    this.pointers = new Map();
    this.build(section);
    onColorsChange(() => this.ask());
    addEventListener("resize", () => this.ask());
  }

  // --- Elements ----------------------------------------------------------------------------------

  build(section) {
    const button = (text, title, act) =>
      make("button", {type: "button", "aria-label": /\w/.test(text) ? undefined : title, title, click: act}, text);
    const zoomAll = (factor) => this.change(() => this.lanes.forEach((l) => l.zoom(factor, this.selectedPosition(l))));
    this.search = make("input", {type: "search", id: "map-search", autocomplete: "off", spellcheck: "false", placeholder: SEARCH_HINT,
                                 keydown: (event) => this.pressSearch(event)});
    const tools = make("div", {class: "tools"},
      make("span", {class: "field"}, make("label", {for: "map-search"}, "Search"), this.search,
           button("Next", "Show the next function that the search finds", () => this.find(1))),
      button("+", "Zoom in", () => zoomAll(0.5)), button("−", "Zoom out", () => zoomAll(2)),
      button("Whole", "Show all code", () => this.change(() => this.lanes.forEach((l) => l.show(0, l.size)))),
      button("Hot", "Show the part with the most heat", () => this.change(() => this.lanes.forEach((l) => this.showHot(l)))),
      ...(this.code.tools ?? []),
      make("span", {class: "legend"}, ...this.legend()));
    this.frame = make("div", {class: "frame"});
    const {canvas, ask} = makeCanvas(this.frame, () => this.height(), {
      tabindex: "0", role: "application", "aria-roledescription": "map",
      "aria-label": "Map of the code. Left and right go from function to function, up and down change between " +
        `${this.code.names.join(" and ")}, ` + "comma and full stop go from block to block, plus and minus zoom, " +
        "shift with left and right moves, home shows all, enter opens a function.",
      pointerdown: (e) => this.press(e), pointermove: (e) => this.move(e), pointerup: (e) => this.release(e),
      pointercancel: (e) => this.release(e), pointerleave: () => this.hover(null),
      wheel: (e) => this.wheel(e), dblclick: (e) => this.openAt(e), keydown: (e) => this.key(e)},
      (context, width, height) => this.draw(context, width, height));
    this.canvas = canvas;
    this.ask = ask;
    this.tip = make("div", {class: "tip", hidden: true});
    this.frame.append(this.tip);
    this.details = make("div", {class: "details", role: "status"});
    this.said = make("p", {class: "said", role: "status"});
    this.select(-1);
    const old = this.lanes.flatMap((lane) => lane.leftOut);
    const remark = old.length
      ? `Not drawn: ${old.map((s) => `${s.name}, ${bytesText(s.size)}`).join("; ")} of old code that BOLT left behind. ` : "";
    section.append(tools, this.frame, this.said, this.details,
      make("p", {class: "remark"}, remark + "Turn the wheel or pinch to zoom, drag to move; a click selects a function and " +
           "joins its parts, a double click opens it. " + this.code.remark),
      make("p", {class: "remark keys"}, "With the keyboard: left and right go from function to function, up and down to the other " +
           "row; comma and full stop go from block to block; + and − zoom, shift with left and right moves, Home shows " +
           "all, Enter opens the function."));
  }

  legend() {
    return [["hot", "function or hot part"], ["cold", "cold fragment"], ["left", "left in place"], ["plt", "PLT"],
            ["gap", "padding and old code"], ...(this.code.legend ?? [])].map(([name, text]) => make("span", {}, make("span", {class: "key " + name}), text + " "));
  }

  joins() {
    return innerWidth < WIDE ? JOINS_LEAST : Math.min(JOINS_MOST, Math.max(JOINS_LEAST, innerHeight - 640));
  }

  height() {
    return this.before ? 2 * (AXIS + HEAT + BAND) + this.joins() : AXIS + HEAT + BAND + ARCS;
  }

  // Where the band and the heat of a lane are; heat grows away from the joins.
  rows(lane) {
    if (lane === this.before)
      return {axis: 0, heat: AXIS, band: AXIS + HEAT, edge: AXIS + HEAT + BAND, grows: -1};
    const top = this.before ? AXIS + HEAT + BAND + this.joins() : ARCS;
    return {axis: top + BAND + HEAT, heat: top + BAND, band: top, edge: top, grows: 1};
  }

  // --- Drawing -----------------------------------------------------------------------------------

  draw(context, width) {
    this.width = width;
    const most = Math.max(...this.lanes.map((lane) => this.measure(lane, width)));
    for (const lane of this.lanes)
      this.drawLane(context, lane, width, most);
    this.drawJoins(context, width);
    this.drawFocus(context);
  }

  x(lane, position) {
    return (position - lane.from) / (lane.to - lane.from) * this.width;
  }

  // The mean number of runs of the bytes of each pixel; returns the largest.
  measure(lane, width) {
    const scale = width / (lane.to - lane.from);
    lane.heat = new Float64Array(width);
    lane.detail = [];
    const add = (from, to, perByte) => {
      let x = Math.max(0, (from - lane.from) * scale);
      const end = Math.min(width, (to - lane.from) * scale);
      for (let pixel = Math.floor(x); pixel < end && pixel < width; pixel++) {
        const next = Math.min(end, pixel + 1);
        lane.heat[pixel] += perByte * (next - x);
        x = next;
      }
    };
    for (let i = lane.first(lane.from); i < lane.items.count && lane.at[i] < lane.to; i++) {
      const size = lane.sizes[i], executed = lane.executed[i];
      const blocks = size * scale >= BLOCKS_WIDTH && lane.blocks(i, this.ask);
      if (blocks && blocks.length) {
        lane.detail.push([i, blocks]);
        for (const [start, end, count] of blocks)
          if (count > 0)
            add(lane.at[i] + start, lane.at[i] + end, count);
      } else if (executed > 0 && size > 0) {
        add(lane.at[i], lane.at[i] + size, executed / size);
      }
    }
    return lane.heat.reduce((a, b) => Math.max(a, b), 0);
  }

  drawLane(context, lane, width, most) {
    const rows = this.rows(lane);
    context.fillStyle = styleColor("panel");
    context.fillRect(0, rows.heat, width, HEAT);
    context.fillStyle = styleColor("gap");
    context.fillRect(0, rows.band, width, BAND);
    this.drawPages(context, lane, rows);
    if (!this.code.drawHeat?.(context, lane, rows, width))
      this.drawHeat(context, lane, rows, width, most);
    this.drawKinds(context, lane, rows, width);
    for (const [item, blocks] of lane.detail)
      this.drawBlocks(context, lane, rows, item, blocks, most);
    this.drawAxis(context, lane, rows, width);
  }

  drawHeat(context, lane, rows, width, most) {
    for (let pixel = 0; pixel < width; pixel++) {
      const heat = Math.round(64 * heatOf(lane.heat[pixel], most)) / 64;
      if (heat === 0)
        continue;
      const tall = Math.max(2, heat * (HEAT - 6));
      context.fillStyle = heatColor(heat);
      context.fillRect(pixel, rows.grows < 0 ? rows.heat + HEAT - tall : rows.heat, 1, tall);
    }
  }

  // The kind that has most of a pixel.
  drawKinds(context, lane, rows, width) {
    const scale = width / (lane.to - lane.from), colors = kindColors.map(styleColor);
    const border = styleColor("panel");
    let pixel = -1, shares = [0, 0, 0, 0];
    const flush = () => {
      const best = shares.indexOf(Math.max(...shares));
      if (pixel >= 0 && shares[best] > 0) {
        context.fillStyle = colors[best];
        context.globalAlpha = Math.min(1, 0.35 + shares.reduce((a, b) => a + b));
        context.fillRect(pixel, rows.band, 1, BAND);
        context.globalAlpha = 1;
      }
      shares = [0, 0, 0, 0];
    };
    for (let i = lane.first(lane.from); i < lane.items.count && lane.at[i] < lane.to; i++) {
      const from = (lane.at[i] - lane.from) * scale, wide = lane.sizes[i] * scale, kind = lane.kinds[i];
      if (wide >= 2) {
        flush();
        pixel = -1;
        context.fillStyle = colors[kind];
        context.fillRect(from, rows.band, wide, BAND);
        if (wide > 5) {
          context.fillStyle = border;
          context.fillRect(from, rows.band, 1, BAND);
        }
        continue;
      }
      if (Math.floor(from) !== pixel) {
        flush();
        pixel = Math.floor(from);
      }
      shares[kind] += wide;
    }
    flush();
  }

  drawBlocks(context, lane, rows, item, blocks, most) {
    const ink = styleColor("ink"), line = styleColor("panel");
    context.font = "11px system-ui, sans-serif";
    for (const [start, end, count] of blocks) {
      const from = this.x(lane, lane.at[item] + start), to = this.x(lane, lane.at[item] + end);
      if (to < 0 || from > this.width || to - from < 3)
        continue;
      context.fillStyle = line;
      context.fillRect(from, rows.band + 4, 1, BAND - 8);
      const at = Math.max(from, 0), room = Math.min(to, this.width) - at - 8;
      const text = room > 60 ? fitText(context, `+${hexText(start)}  ${numberText(count)}×`, room) : "";
      if (text) {
        // Heat may be behind it.
        const y = rows.grows < 0 ? rows.heat + 1 : rows.heat + HEAT - 15;
        context.fillStyle = line;
        context.fillRect(at + 2, y, context.measureText(text).width + 4, 14);
        context.fillStyle = ink;
        context.fillText(text, at + 4, y + 11);
      }
    }
    const left = Math.max(0, this.x(lane, lane.at[item]));
    const wide = Math.min(this.width, this.x(lane, lane.at[item] + lane.items.size(item))) - left;
    if (wide > 60) {
      const text = fitText(context, this.code.nameOf(lane.items.functionOf(item)), wide - 8);
      context.fillStyle = styleColor(kindColors[lane.kinds[item]]);
      context.fillRect(left + 3, rows.band + 2, context.measureText(text).width + 4, BAND - 4);
      context.fillStyle = styleColor("on-kind");
      context.fillText(text, left + 5, rows.band + 14);
    }
  }

  // Borders of pages, of 2 MiB or of 4 KiB, if they are not too many.
  drawPages(context, lane, rows) {
    for (const page of [2097152, 4096]) {
      const wide = page / (lane.to - lane.from) * this.width;
      if (wide < 12 || wide > 4 * this.width)
        continue;
      context.fillStyle = styleColor("line");
      for (const section of lane.sections) {
        const skip = (page - Number(BigInt(section.address) % BigInt(page))) % page;
        const first = Math.max(0, Math.ceil((lane.from - section.base - skip) / page));
        for (let at = section.base + skip + first * page; at < Math.min(lane.to, section.base + section.size); at += page)
          context.fillRect(Math.round(this.x(lane, at)), rows.heat, 1, HEAT);
      }
      break;
    }
  }

  drawAxis(context, lane, rows, width) {
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const y = rows.axis + AXIS / 2;
    const isAll = lane.to - lane.from >= lane.size;
    const size = `${lane.title}: ${bytesText(lane.to - lane.from)}${isAll ? "" : ` of ${bytesText(lane.size)}`}`;
    const sizeWidth = context.measureText(size).width;
    context.fillStyle = styleColor("ink");
    context.fillText(size, width - sizeWidth - 2, y);
    context.fillStyle = styleColor("faint");
    for (const section of lane.sections) {
      const from = this.x(lane, section.base), to = this.x(lane, section.base + section.size);
      if (to < 0 || from > width)
        continue;
      const left = Math.max(0, from), room = Math.min(to, width - sizeWidth - 14) - left - 6;
      context.fillRect(left, rows.grows < 0 ? rows.heat : rows.band, 1, HEAT + BAND);
      // The address of the first byte in sight, if there is room for it.
      const address = hexText(BigInt(section.address) + BigInt(Math.max(0, Math.round(lane.from - section.base))));
      const text = [`${section.name} ${address}`, section.name].find((t) => context.measureText(t).width < room);
      if (text)
        context.fillText(text, left + 3, y);
    }
    context.textBaseline = "alphabetic";
  }

  // --- Joins -------------------------------------------------------------------------------------

  // True if a part of the function is in sight, in one of the lanes.
  isVisible(number) {
    return this.after.shows(number) || (this.before !== undefined && this.before.shows(number));
  }

  // The first functions of the order in sight, the very first last; the selected and the hovered one behind them.
  joined() {
    const list = [], {order} = this.code;
    for (let i = 0; i < order.length && list.length < JOINED; i++)
      if (this.isVisible(order[i]))
        list.push(order[i]);
    const marked = [this.selected, this.hovered ? this.hovered.lane.items.functionOf(this.hovered.item) : -1];
    return [...list.reverse().map((number) => [number, false]), ...marked.filter((n) => n >= 0).map((n) => [n, true])];
  }

  drawJoins(context, width) {
    const bottom = this.rows(this.after).edge;
    const top = this.before ? this.rows(this.before).edge : bottom;
    const accent = styleColor("accent");
    context.save();
    context.beginPath();
    context.rect(0, this.before ? top : 0, width, this.before ? bottom - top : bottom);
    context.clip();
    for (const [number, isMarked] of this.joined()) {
      const {color, alpha} = this.code.joinStyle(number);
      context.strokeStyle = isMarked ? accent : color;
      context.globalAlpha = isMarked ? 1 : alpha * (this.selected < 0 ? 1 : 0.5);
      context.lineWidth = isMarked ? 2 : 1;
      for (const [item, piece] of this.code.pairs(number)) {
        const to = this.middle(this.after, piece), main = this.code.mainItem(this.after, number);
        if (item >= 0 && !isMarked && this.isOutside(to) && this.isOutside(this.middle(this.before, item)))
          continue;
        if (item >= 0)
          this.curve(context, this.middle(this.before, item), top, to, bottom);
        else if (piece !== main)
          this.arc(context, this.middle(this.after, main), to, bottom);
      }
    }
    context.restore();
  }

  middle(lane, item) {
    return this.x(lane, lane.at[item] + lane.items.size(item) / 2);
  }

  isOutside(x) {
    return x < 0 || x > this.width;
  }

  curve(context, x1, y1, x2, y2) {
    if (Math.max(x1, x2) < -4 * this.width || Math.min(x1, x2) > 5 * this.width)
      return;
    const half = (y1 + y2) / 2;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, half, x2, half, x2, y2);
    context.stroke();
  }

  arc(context, x1, x2, y) {
    const tall = Math.min(ARCS * 1.2, 12 + Math.abs(x2 - x1) / 4);
    context.beginPath();
    context.moveTo(x1, y);
    context.bezierCurveTo(x1, y - tall, x2, y - tall, x2, y);
    context.stroke();
  }

  drawFocus(context) {
    const mark = (lane, item, color, wide) => {
      if (item < 0)
        return;
      const rows = this.rows(lane), from = this.x(lane, lane.at[item]);
      context.strokeStyle = color;
      context.lineWidth = wide;
      context.strokeRect(from - 1, rows.band + 1, Math.max(3, lane.items.size(item) / (lane.to - lane.from) * this.width + 2), BAND - 2);
    };
    const accent = styleColor("accent");
    if (this.selected >= 0) {
      for (const lane of this.lanes)
        for (const item of lane.itemsOf(this.selected))
          mark(lane, item, accent, 2);
    }
    if (document.activeElement !== this.canvas)
      return;
    const {lane, item, block} = this.focused;
    mark(lane, item, styleColor("ink"), 3);
    if (block) {
      const from = this.x(lane, lane.at[item] + block[0]), to = this.x(lane, lane.at[item] + block[1]), rows = this.rows(lane);
      context.strokeRect(from, Math.min(rows.heat, rows.band) + 1, Math.max(2, to - from), HEAT + BAND - 2);
    }
  }

  // --- Searching ---------------------------------------------------------------------------------

  pressSearch(event) {
    if (event.key !== "Enter")
      return;
    event.preventDefault();
    this.find(event.shiftKey ? -1 : 1);
  }

  // Show the next function that the search finds, or the one before: those first whose places are joined first.
  find(by) {
    const text = this.search.value.trim();
    if (text !== this.sought) {
      this.sought = text;
      const fits = this.code.nameFilter(text);
      this.found = text ? [...new Set([...this.code.order, ...Array(this.code.count).keys()])].filter(fits) : [];
      this.foundAt = by > 0 ? -1 : 0;
    }
    const {length} = this.found;
    if (length === 0) {
      this.said.textContent = text ? `${text}: no function found` : "";
      return;
    }
    this.foundAt = (this.foundAt + by + length) % length;
    this.change(() => {
      this.select(this.found[this.foundAt]);
      this.center(this.found[this.foundAt]);
    });
    this.said.textContent = `function ${numberText(this.foundAt + 1)} of ${numberText(length)} that the search finds`;
  }

  // --- Moving ------------------------------------------------------------------------------------

  change(act) {
    act();
    this.ask();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.note(), 250);
  }

  note() {
    const part = (lane) => lane && (lane.from > 0 || lane.to < lane.size)
      ? `${Math.round(lane.from)}-${Math.round(lane.to)}` : undefined;
    noteState("map", {b: part(this.before), a: part(this.after),
                      s: this.selected >= 0 ? this.code.keyOf(this.selected) : undefined, q: this.search.value || undefined, ...this.code.state?.()});
  }

  open(state) {
    const {a, b, s, q} = state;
    this.search.value = q ?? this.search.value;
    this.code.open?.(state);
    const show = (lane, text) => {
      const [from, to] = (text ?? "").split("-").map(Number);
      if (lane && to > from)
        lane.show(from, to);
    };
    const number = s ? this.code.numberAt(s) : -1;
    if (number >= 0) {
      this.select(number);
      if (!a && !b)
        this.center(number);
    }
    show(this.after, a);
    show(this.before, b);
    this.ask();
    if (!a && !b && !s)
      this.note();
  }

  center(number) {
    for (const lane of this.lanes)
      if (this.code.mainItem(lane, number) >= 0)
        lane.center(this.code.mainItem(lane, number));
  }

  // The shortest run of items that has nine tenths of the heat, roughly: from both ends.
  showHot(lane) {
    let all = 0;
    for (let i = 0; i < lane.items.count; i++)
      all += lane.items.executed(i);
    if (all === 0)
      return;
    let first = 0, last = lane.items.count - 1, left = all * 0.1;
    for (;;) {
      const front = lane.items.executed(first), back = lane.items.executed(last);
      const isFront = lane.items.size(first) / (front + 1) >= lane.items.size(last) / (back + 1);
      const lost = isFront ? front : back;
      if (first >= last || lost > left)
        break;
      left -= lost;
      if (isFront)
        first++;
      else
        last--;
    }
    const from = lane.at[first], to = lane.at[last] + lane.items.size(last);
    lane.show(from - (to - from) * 0.02, to + (to - from) * 0.02);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const split = this.before ? (this.rows(this.before).edge + this.rows(this.after).edge) / 2 : -1;
    const lane = y < split ? this.before : this.after;
    return {x, y, lane, position: lane.from + x / this.width * (lane.to - lane.from)};
  }

  wheel(event) {
    event.preventDefault();
    const {lane, position} = this.place(event);
    const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const step = event.deltaMode === 1 ? 33 : 1;
    this.change(() => isPan ? lane.pan((event.deltaX || event.deltaY) * step / this.width * (lane.to - lane.from))
                            : this.zoomTogether(lane, Math.exp(event.deltaY * step / 400), position));
  }

  // Zoom a lane at a position, and the other one at the place of the same function.
  zoomTogether(lane, factor, position) {
    const item = lane.find(position), number = item < 0 ? -1 : lane.items.functionOf(item);
    lane.zoom(factor, position);
    for (const other of this.lanes.filter((l) => l !== lane)) {
      const twin = number < 0 ? -1 : this.code.mainItem(other, number);
      if (twin < 0) {
        other.zoom(factor, (other.from + other.to) / 2);
        continue;
      }
      const middle = other.at[twin] + other.items.size(twin) / 2;
      if (middle < other.from || middle > other.to)
        other.pan(middle - (other.from + other.to) / 2);
      other.zoom(factor, middle);
    }
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const place = this.place(event);
    this.pointers.set(event.pointerId, place);
    this.dragged = this.pointers.size > 1;
    this.dragLane = place.lane;
  }

  move(event) {
    const place = this.place(event), before = this.pointers.get(event.pointerId);
    if (!before) {
      this.hover(place);
      return;
    }
    const lane = this.dragLane, perPixel = (lane.to - lane.from) / this.width;
    if (Math.abs(place.x - before.x) > 3)
      this.dragged = true;
    if (!this.dragged)
      return;
    const other = [...this.pointers.entries()].find(([id]) => id !== event.pointerId);
    this.change(() => {
      if (!other) {
        lane.pan((before.x - place.x) * perPixel);
        return;
      }
      const anchor = other[1].x, old = Math.abs(before.x - anchor), now = Math.abs(place.x - anchor);
      if (old > 8 && now > 8)
        lane.zoom(old / now, lane.from + anchor * perPixel);
    });
    this.pointers.set(event.pointerId, place);
  }

  release(event) {
    const wasPressed = this.pointers.delete(event.pointerId);
    if (!wasPressed || this.dragged || event.type === "pointercancel")
      return;
    const {lane, position} = this.place(event);
    const item = lane.find(position);
    this.change(() => this.select(item < 0 ? -1 : lane.items.functionOf(item)));
    this.focused = {lane, item};
  }

  openAt(event) {
    const {lane, position} = this.place(event), item = lane.find(position);
    if (item >= 0)
      location.hash = "f=" + this.code.keyOf(lane.items.functionOf(item));
  }

  key(event) {
    const {lane} = this.focused, size = lane.to - lane.from, middle = (lane.from + lane.to) / 2;
    const acts = {
      ArrowLeft: () => event.shiftKey ? lane.pan(-size / 8) : this.step(-1),
      ArrowRight: () => event.shiftKey ? lane.pan(size / 8) : this.step(1),
      ArrowUp: () => this.switchTo(this.before ?? this.after),
      ArrowDown: () => this.switchTo(this.after),
      "+": () => lane.zoom(0.5, this.focusPosition(middle)), "=": () => lane.zoom(0.5, this.focusPosition(middle)),
      "-": () => lane.zoom(2, this.focusPosition(middle)), Home: () => this.lanes.forEach((l) => l.show(0, l.size)),
      ",": () => this.stepBlock(-1), ".": () => this.stepBlock(1),
      Enter: () => this.openFocused(),
    };
    if (!(event.key in acts) || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    this.change(acts[event.key]);
  }

  focusPosition(otherwise) {
    const {lane, item} = this.focused;
    const at = item >= 0 ? lane.at[item] + lane.items.size(item) / 2 : otherwise;
    return at >= lane.from && at <= lane.to ? at : otherwise;
  }

  // Where zooming keeps the lane: the middle of what is selected if that is in sight, else of all.
  selectedPosition(lane) {
    const item = this.selected < 0 ? -1 : this.code.mainItem(lane, this.selected);
    const at = item < 0 ? -1 : lane.at[item] + lane.items.size(item) / 2;
    return at >= lane.from && at <= lane.to ? at : (lane.from + lane.to) / 2;
  }

  // The next block of the item that has the focus, or of the selected function: in sight, and wide enough to be seen.
  stepBlock(by) {
    const {lane} = this.focused;
    let {item, block} = this.focused;
    if (item < 0 && this.selected >= 0)
      item = this.code.mainItem(lane, this.selected);
    if (item < 0)
      return;
    const blocks = lane.blocks(item, () => this.change(() => this.stepBlock(by)));
    if (!blocks || !blocks.length)
      return;
    const now = block ? blocks.findIndex(([start]) => start === block[0]) : by > 0 ? -1 : blocks.length;
    block = blocks[Math.min(blocks.length - 1, Math.max(0, now + by))];
    this.focused = {lane, item, block};
    const [from, to] = [lane.at[item] + block[0], lane.at[item] + block[1]];
    if ((to - from) / (lane.to - lane.from) * this.width < BLOCK_WIDTH)
      lane.show(from - 3.5 * (to - from), to + 3.5 * (to - from));
    else if (from < lane.from || to > lane.to)
      lane.pan((from + to) / 2 - (lane.from + lane.to) / 2);
    const number = lane.items.functionOf(item);
    if (number !== this.selected)
      this.select(number);
    this.said.textContent = `${hexText(this.code.addressOf(lane, item, block[0]))}, ${this.code.placeName(lane, item)}, ` +
      this.blockText(block);
  }

  blockText([start, end, count]) {
    return `block +${hexText(start)} to +${hexText(end)}: ran ${numberText(count)} times`;
  }

  // The next item that is at least a pixel wide, or has heat.
  step(by) {
    const {lane} = this.focused, pixel = (lane.to - lane.from) / this.width;
    let item = this.focused.item;
    if (item < 0 || lane.at[item] > lane.to || lane.at[item] + lane.items.size(item) < lane.from)
      item = lane.first(by > 0 ? lane.from : lane.to) - by;
    do
      item += by;
    while (item >= 0 && item < lane.items.count && lane.items.size(item) < pixel && lane.items.executed(item) === 0);
    if (item < 0 || item >= lane.items.count)
      return;
    this.focused = {lane, item};
    if (lane.at[item] < lane.from || lane.at[item] + lane.items.size(item) > lane.to)
      lane.pan(lane.at[item] + lane.items.size(item) / 2 - (lane.from + lane.to) / 2);
    this.select(lane.items.functionOf(item));
  }

  switchTo(lane) {
    const number = this.selected;
    const item = number < 0 ? -1 : this.code.mainItem(lane, number);
    this.focused = {lane, item};
    if (item >= 0 && (lane.at[item] < lane.from || lane.at[item] > lane.to))
      lane.pan(lane.at[item] - (lane.from + lane.to) / 2);
  }

  openFocused() {
    if (this.selected >= 0)
      location.hash = "f=" + this.code.keyOf(this.selected);
  }

  // --- What is said ------------------------------------------------------------------------------

  select(number) {
    this.selected = number;
    this.said.textContent = "";
    this.details.replaceChildren(...(number < 0 ? [make("p", {class: "remark"}, "No function is selected.")]
                                                : this.code.describe(number)));
  }

  hover(place) {
    const item = place ? place.lane.find(place.position) : -1;
    const isSame = this.hovered ? item === this.hovered.item && place.lane === this.hovered.lane : item < 0;
    this.hovered = item < 0 ? null : {lane: place.lane, item};
    if (!isSame)
      this.ask();
    this.tip.hidden = item < 0;
    if (item < 0)
      return;
    const {lane} = place, number = lane.items.functionOf(item), offset = Math.floor(place.position - lane.at[item]);
    const address = this.code.addressOf(lane, item, offset);
    const blocks = lane.items.size(item) / (lane.to - lane.from) * this.width >= BLOCKS_WIDTH && lane.blocks(item, this.ask);
    const block = blocks ? blocks.find(([start, end]) => start <= offset && offset < end) : null;
    const lines = [`${hexText(address)}, ${this.code.placeName(lane, item)} +${hexText(offset)}`,
                   `${numberText(this.code.samplesOf(lane, item))} samples, ${numberText(lane.items.size(item))} bytes`];
    if (block)
      lines.push(this.blockText(block));
    this.tip.replaceChildren(make("strong", {}, nameElement(this.code.nameOf(number))), ...lines.map((line) => make("div", {}, line)));
    const left = Math.min(place.x + 14, this.width - this.tip.offsetWidth - 4);
    this.tip.style.left = Math.max(0, left) + "px";
    this.tip.style.top = Math.min(place.y + 16, this.height() - this.tip.offsetHeight) + "px";
  }
}
