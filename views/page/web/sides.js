// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of one function in two layouts: a list of its blocks or instructions in each, side by side, with curves
// between the places of one of them, and of branches.
import { BLOCK_KEYS, BLOCK_ROW, LINK_WIDTH, blockRow, curve, linkPath, pieceRow, showNear, sideSvg, walkBlocks } from "./blocks.js";
import { make, makeSvg, nameElement } from "./dom.js";
import { hexText, numberText } from "./format.js";
import { heatColor, heatOf, onColorsChange } from "./heat.js";

const ARC_WIDTH = 90;

// Who extends it has numberAt(address), nameOf(number), load(number, state), which gets what is shown, fill(number,
// loaded), which makes the elements, cellsOf(side, row), headOf(side, piece) and rowText(side, i). A row has count, and
// piece where lists have titles of the pieces.
export class SidesPage {
  constructor(section) {
    this.title = section.querySelector("h2");
    this.body = make("div", {});
    section.append(this.body);
    onColorsChange(() => this.number !== undefined && this.show(this.number));
  }

  async open(state) {
    const number = this.numberAt(state.f);
    this.state = state;
    if (number >= 0) {
      await this.show(number);
      return;
    }
    this.number = undefined;
    this.title.textContent = "No function";
    this.body.replaceChildren(make("p", {}, `There is no function at ${state.f}.`));
  }

  async show(number) {
    this.number = number;
    const {state} = this, loaded = await this.load(number, state);
    if (this.number !== number || this.state !== state)
      return;
    this.body.replaceChildren(...this.fill(number, loaded));
    this.title.replaceChildren(nameElement(this.nameOf(number)));
  }

  makeList(side, rows, title) {
    const list = make("ol", {class: "blocks " + (side ? "output" : "input"), "aria-label": title}), heights = [];
    let tall = 0, last;
    rows.forEach((row, i) => {
      if (row.piece !== last) {
        list.append(pieceRow(...this.headOf(side, row.piece)));
        tall += BLOCK_ROW;
        last = row.piece;
      }
      heights.push(tall + BLOCK_ROW / 2);
      tall += BLOCK_ROW;
      list.append(blockRow(`${side ? "out" : "in"}-${i}`,
                           {...this.cellsOf(side, row), count: row.count, heat: heatOf(row.count, this.most)}));
    });
    return {list, heights, tall};
  }

  // lists: rows of both sides; links: [row, row] of one place; drawn: those of them that have a curve; arcs: branches of
  // both sides, {from, to, count, text}, or nothing; absent: what is said in place of an empty list.
  makeSides({titles, lists, links, drawn = links, arcs, absent, remark, name = ""}) {
    this.most = lists.flat().reduce((most, row) => Math.max(most, row.count), 0);
    this.links = links;
    const made = lists.map((rows, side) => this.makeList(side, rows, titles[side]));
    const tall = Math.max(1, ...made.map((side) => side.tall));
    const svg = sideSvg("links", LINK_WIDTH, tall);
    const drawings = [[svg, drawn.map(([i, k]) => {
      const [a, b] = [made[0].heights[i], made[1].heights[k]];
      return curve(a, b, () => [linkPath(a, b, heatOf(lists[1][k].count, this.most), i, k)]);
    })]];
    const outer = (arcs ?? []).map((edges, side) => {
      const arc = sideSvg("arcs " + (side ? "output" : "input"), ARC_WIDTH, tall);
      drawings.push([arc, this.arcCurves(edges, made[side].heights, side)]);
      return make("div", {class: "middle"}, arc);
    });
    const sides = made.map(({list}, side) => make("div", {class: "side"}, make("h3", {}, titles[side]),
                                                 lists[side].length ? list : make("p", {class: "remark"}, absent)));
    this.grid = make("div", {class: `sides ${arcs ? name : "pair"}`}, outer[0] ?? null, sides[0],
                     make("div", {class: "middle"}, svg), sides[1], outer[1] ?? null);
    const touched = walkBlocks(this.grid, (block) => this.mark(block));
    showNear(this.grid, made.filter((unused, side) => lists[side].length).map(({heights}) => heights), drawings, () => this.showMark());
    return [make("p", {class: "remark"}, remark, make("span", {class: "keys"}, BLOCK_KEYS)), this.grid, touched];
  }

  // Curves from heights to heights, out to the right, or on the first side to the left.
  arcCurves(edges, heights, side) {
    const most = edges.reduce((m, edge) => Math.max(m, edge.count), 0);
    const x = (value) => (side ? value : ARC_WIDTH - value);
    const [from, to] = side ? ["data-from", "data-to"] : ["data-in-from", "data-in-to"];
    return [...edges].reverse().map((edge) => curve(heights[edge.from], heights[edge.to], () => {
      const a = heights[edge.from], b = heights[edge.to], heat = heatOf(edge.count, most);
      const reach = Math.min(ARC_WIDTH - 8, 14 + Math.abs(a - b) / 5) * 1.3;
      const d = edge.from === edge.to ? `M${x(0)} ${a - 5}C${x(22)} ${a - 9} ${x(22)} ${a + 9} ${x(0)} ${a + 5}`
                                      : `M${x(0)} ${a}C${x(reach)} ${a} ${x(reach)} ${b} ${x(6)} ${b}`;
      const path = makeSvg("path", {d, class: "arc", stroke: heatColor(heat), "stroke-width": 0.8 + 2.4 * heat,
                                    [from]: edge.from, [to]: edge.to},
                           makeSvg("title", {}, `${this.rowText(side, edge.from)} to ${this.rowText(side, edge.to)}: ` +
                                                `${numberText(edge.count)}${edge.text ?? ""}`));
      return edge.from === edge.to
        ? [path] : [path, makeSvg("path", {d: `M${x(0)} ${b}L${x(7)} ${b - 3.5}v7z`, fill: heatColor(heat), class: "arrow"})];
    }));
  }

  // Mark what belongs to a row: its other places and its branches.
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
    const rows = [0, 1].map((which) => (which === at ? [number] : linked.map((link) => link[which])));
    const select = [...rows[0].flatMap((i) => [`#in-${i}`, `[data-in-from="${i}"]`, `[data-in-to="${i}"]`]),
                    ...rows[1].flatMap((i) => [`#out-${i}`, `[data-from="${i}"]`, `[data-to="${i}"]`]),
                    ...linked.map(([i, k]) => `path[data-in="${i}"][data-out="${k}"]`)];
    this.grid.querySelectorAll(select.join(",")).forEach((element) => element.classList.add("marked"));
  }
}

// A place in a list.
export function placeText(offset, isCold) {
  return `${isCold ? "cold " : ""}+${hexText(offset)}`;
}
