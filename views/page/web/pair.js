// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of one function in both binaries: its sizes and places, and its blocks in the order of each.
import { blockRows, outputLabel, piecesInOrder } from "./blocks.js";
import { changeOf } from "./changes.js";
import { COLD, kindNames } from "./code.js";
import { fact, make } from "./dom.js";
import { hexText, numberText } from "./format.js";
import { COMPARED, INPUT, addressOf, changeText, hasProfile, keyOf, nameOf, rowAt, rows, sides, valueOf } from "./pairs.js";
import { SidesPage } from "./sides.js";

export class PairPage extends SidesPage {
  numberAt(text) {
    return rowAt(text);
  }

  nameOf(row) {
    return nameOf(row);
  }

  load(row) {
    return Promise.all(sides.map((code, side) => (rows.of[side][row] < 0 ? [] : piecesInOrder(code, rows.of[side][row]))));
  }

  fill(row, orders) {
    this.lists = orders.map((order, side) => order.flatMap(([piece, blocks]) => blockRows(sides[side], piece, blocks)));
    return [this.makeFacts(row), ...this.makeBlocks(row)];
  }

  // --- Figures -----------------------------------------------------------------------------------

  makeFacts(row) {
    const line = (label, cells) => make("tr", {}, make("th", {scope: "row"}, label), cells.map((cell) => make("td", {}, cell)));
    const number = (label, valueIn) => {
      const [from, to] = [0, 1].map((side) => (rows.of[side][row] < 0 ? null : valueIn(side)));
      return line(label, [from === null ? "" : numberText(from), to === null ? "" : numberText(to),
                          from === null || to === null ? "" : changeOf(from, to)]);
    };
    const address = (side) => (rows.of[side][row] < 0 ? "" : hexText(addressOf(side, row)));
    const fragments = (side) => [...sides[side].piecesOf(rows.of[side][row])]
      .filter((piece) => sides[side].pieces.kind[piece] === COLD).length;
    return make("div", {},
      make("dl", {class: "origin"}, fact("What changed", changeText(row)),
           fact("Map", make("a", {href: "#map?s=" + keyOf(row)}, "show this function on the map"))),
      make("div", {class: "card scroll narrow"}, make("table", {class: "rows both", "aria-label": "Figures of both"},
        make("thead", {}, make("tr", {}, make("td", {}), ["old", "new", "change"].map((head) => make("th", {scope: "col"}, head)))),
        make("tbody", {},
          line("address", [address(0), address(1), ""]),
          number("bytes", (side) => valueOf(side, "bytes", row)),
          number("cold bytes", (side) => valueOf(side, "coldBytes", row)),
          number("cold fragments", fragments),
          number("blocks with code", (side) => this.lists[side].filter((block) => !block.isWhole).length),
          hasProfile ? number("samples", (side) => valueOf(side, "samples", row)) : null))));
  }

  // --- Blocks ------------------------------------------------------------------------------------

  headOf(side, piece) {
    const {pieces} = sides[side], kind = pieces.kind[piece];
    return [kind, `${kindNames[kind]} at ${hexText(sides[side].addressOf(piece))}`, `, ${numberText(pieces.size[piece])} bytes`];
  }

  cellsOf(side, block) {
    return {label: outputLabel(block), size: `${block.end - block.from} B`, isCold: sides[side].pieces.kind[block.piece] === COLD};
  }

  // [old, new] blocks that come from one block of the input, if the input is the same.
  findLinks(row) {
    const links = [], places = new Map();
    if ((rows.flags[row] & COMPARED) === 0 || rows.flags[row] & INPUT)
      return links;
    this.lists[0].forEach((block, i) => {
      if (!places.has(block.input))
        places.set(block.input, []);
      if (!block.isWhole)
        places.get(block.input).push(i);
    });
    this.lists[1].forEach((block, k) => (places.get(block.input) ?? []).forEach((i) => links.push([i, k])));
    return links;
  }

  makeBlocks(row) {
    const isEdited = rows.flags[row] & COMPARED && rows.flags[row] & INPUT;
    return [make("h3", {class: "group"}, "Blocks"), ...this.makeSides({
      titles: ["Old", "New"], lists: this.lists, links: this.findLinks(row), absent: "not there",
      remark: "Offsets count from the start of the part; behind the arrow is the offset in the input function. " +
        (isEdited ? "The input has changed, so blocks cannot be joined." : "") +
        (hasProfile ? " The number is how often the block ran. " : " ")})];
  }
}
