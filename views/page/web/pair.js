// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of one function in both binaries: its sizes and places, and its blocks in the order of each.
import { BLOCK_KEYS, BLOCK_ROW, LINK_WIDTH, blockRow, blockRows, curve, linkPath, outputLabel, pieceRow, piecesInOrder, showNear, sideSvg, walkBlocks } from "./blocks.js";
import { changeOf } from "./changes.js";
import { COLD, kindNames } from "./code.js";
import { make, nameElement } from "./dom.js";
import { hexText, numberText } from "./format.js";
import { heatOf, onColorsChange } from "./heat.js";
import { COMPARED, INPUT, addressOf, changeText, hasProfile, keyOf, nameOf, rowAt, rows, sides, valueOf } from "./pairs.js";

const titles = ["Old", "New"];

export class PairPage {
  constructor(section) {
    this.title = section.querySelector("h2");
    this.body = make("div", {});
    section.append(this.body);
    onColorsChange(() => this.row !== undefined && this.show(this.row));
  }

  async open({f}) {
    const row = rowAt(f);
    if (row < 0) {
      this.row = undefined;
      this.title.textContent = "No function";
      this.body.replaceChildren(make("p", {}, `There is no function at ${f}.`));
      return;
    }
    await this.show(row);
  }

  async show(row) {
    this.row = row;
    const orders = await Promise.all(sides.map((code, side) =>
      rows.of[side][row] < 0 ? [] : piecesInOrder(code, rows.of[side][row])));
    if (this.row !== row)
      return;
    this.lists = orders.map((order, side) => order.flatMap(([piece, blocks]) => blockRows(sides[side], piece, blocks)));
    this.most = this.lists.flat().reduce((most, block) => Math.max(most, block.count), 0);
    this.title.replaceChildren(nameElement(nameOf(row)));
    this.body.replaceChildren(this.makeFacts(row), ...this.makeBlocks(row));
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
      make("dl", {class: "origin"}, make("dt", {}, "What changed"), make("dd", {}, changeText(row)),
           make("dt", {}, "Map"), make("dd", {}, make("a", {href: "#map?s=" + keyOf(row)}, "show this function on the map"))),
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

  makeList(side) {
    const list = make("ol", {class: "blocks " + (side ? "output" : "input"), "aria-label": `Blocks, ${titles[side].toLowerCase()}`}), heights = [], {pieces} = sides[side];
    let y = 0, last = -1;
    this.lists[side].forEach((block, i) => {
      if (block.piece !== last) {
        const kind = pieces.kind[block.piece];
        list.append(pieceRow(kind, `${kindNames[kind]} at ${hexText(sides[side].addressOf(block.piece))}`,
                             `, ${numberText(pieces.size[block.piece])} bytes`));
        y += BLOCK_ROW;
        last = block.piece;
      }
      heights.push(y + BLOCK_ROW / 2);
      y += BLOCK_ROW;
      list.append(blockRow(`${side ? "out" : "in"}-${i}`, outputLabel(block), `${block.end - block.from} B`, block.count,
                           heatOf(block.count, this.most), pieces.kind[block.piece] === COLD));
    });
    return {list, heights, tall: y};
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
    const made = [this.makeList(0), this.makeList(1)];
    this.links = this.findLinks(row);
    const svg = sideSvg("links", LINK_WIDTH, Math.max(made[0].tall, made[1].tall, 1));
    const curves = this.links.map(([i, k]) => {
      const [a, b] = [made[0].heights[i], made[1].heights[k]];
      return curve(a, b, () => [linkPath(a, b, heatOf(this.lists[1][k].count, this.most), i, k)]);
    });
    const lists = made.map(({list}, side) => make("div", {class: "side"},
      make("h3", {}, titles[side]), rows.of[side][row] < 0 ? make("p", {class: "remark"}, "not there") : list));
    this.grid = make("div", {class: "sides pair"}, lists[0], make("div", {class: "middle"}, svg), lists[1]);
    const touched = walkBlocks(this.grid, (block) => this.mark(block));
    // A side without the function has no list.
    showNear(this.grid, made.filter((unused, side) => rows.of[side][row] >= 0).map(({heights}) => heights), [[svg, curves]],
             () => this.showMark());
    const isEdited = rows.flags[row] & COMPARED && rows.flags[row] & INPUT;
    return [make("h3", {class: "group"}, "Blocks"), make("p", {class: "remark"},
      "Offsets count from the start of the part; behind the arrow is the offset in the input function. " +
      (isEdited ? "The input has changed, so blocks cannot be joined." : "") +
      (hasProfile ? " The number is how often the block ran. " : " "), make("span", {class: "keys"}, BLOCK_KEYS)), this.grid, touched];
  }

  // Mark a block and its places on the other side.
  mark(block) {
    if (!block || block === this.marked)
      return;
    this.marked = block;
    this.grid.querySelectorAll(".marked").forEach((element) => element.classList.remove("marked"));
    this.showMark();
  }

  showMark() {
    const block = this.marked;
    if (!block?.isConnected || !this.grid.contains(block))
      return;
    const [side, text] = block.id.split("-"), number = Number(text), at = side === "in" ? 0 : 1;
    const linked = this.links.filter((link) => link[at] === number);
    const select = ["#" + block.id, ...linked.flatMap(([i, k]) =>
      [`#in-${i}`, `#out-${k}`, `path[data-in="${i}"][data-out="${k}"]`])];
    this.grid.querySelectorAll(select.join(",")).forEach((element) => element.classList.add("marked"));
  }
}
