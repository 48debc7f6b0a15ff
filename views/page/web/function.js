// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of one function: its blocks in the order of the input and of the output, and its branches.
import { BLOCK_KEYS, BLOCK_ROW, LINK_WIDTH, blockRow, blockRows, curve, linkPath, outputLabel, pieceRow, piecesInOrder, showNear, sideSvg, walkBlocks } from "./blocks.js";
import { COLD, kindNames } from "./code.js";
import { addressOf, code, functions, inputAddressOf, loadEdges, loadFiles, nameOf, pieceAt, pieces, piecesOf, profileName } from "./data.js";
import { make, makeSvg, nameElement } from "./dom.js";
import { bytesText, hexText, numberText, shareText } from "./format.js";
import { heatColor, heatOf, onColorsChange } from "./heat.js";
import { description } from "./packed.js";
import { refusalsOf } from "./refused.js";

const ARC_WIDTH = 90;

// Rows of a table of branches that are shown at first.
const ROWS_SHOWN = 50;

function fact(label, ...value) {
  return value.length && value[0] !== "" ? [make("dt", {}, label), make("dd", {}, ...value)] : [];
}

export class FunctionPage {
  constructor(section) {
    this.section = section;
    this.title = section.querySelector("h2");
    this.body = make("div", {});
    section.append(this.body);
    onColorsChange(() => this.number !== undefined && this.show(this.number));
  }

  async open({f}) {
    const piece = pieceAt(f);
    if (piece < 0) {
      this.number = undefined;
      this.title.textContent = "No function";
      this.body.replaceChildren(make("p", {}, `There is no function at ${f}.`));
      return;
    }
    await this.show(pieces.function[piece]);
  }

  async show(number) {
    this.number = number;
    const [edges, files, order] = await Promise.all([loadEdges(), loadFiles(), piecesInOrder(code, number)]);
    if (this.number !== number)
      return;
    this.files = files;
    this.gather(number, order);
    this.gatherEdges(number, edges);
    this.title.replaceChildren(nameElement(nameOf(number)));
    this.body.replaceChildren(this.makeFacts(number), ...this.makeCalls(), ...this.makeBlocks(number), ...this.makeBranches());
  }

  // --- Data --------------------------------------------------------------------------------------

  // outputs: blocks with code, in the output's order, the main piece first; inputs: all blocks of the
  // input, ascending, each with the outputs that come from it.
  gather(number, order) {
    this.outputs = [];
    this.rowOf = new Map();
    const inputs = new Map();
    for (const [piece, blocks] of order) {
      for (let i = 0; i < blocks.length; i++)
        if (!inputs.has(blocks.input[i]))
          inputs.set(blocks.input[i], {at: blocks.input[i], count: 0, rows: [], file: blocks.file[i], line: blocks.line[i]});
      for (const row of blockRows(code, piece, blocks)) {
        this.rowOf.set(piece + "/" + row.block, this.outputs.length);
        if (!row.isWhole) {
          inputs.get(row.input).count += row.count;
          inputs.get(row.input).rows.push(this.outputs.length);
        }
        this.outputs.push(row);
      }
    }
    this.inputs = [...inputs.values()].sort((a, b) => a.at - b.at);
    this.inputOf = new Map();
    this.inputs.forEach((input, i) => {
      input.rows.forEach((row) => this.inputOf.set(row, i));
      const next = this.inputs[i + 1];
      input.end = next ? next.at : functions.inputSize[number] || undefined;
    });
    this.most = this.outputs.reduce((most, row) => Math.max(most, row.count), 0);
  }

  gatherEdges(number, edges) {
    this.inside = [];
    const callers = new Map(), callees = new Map();
    this.others = 0;
    const functionOf = (piece) => (piece < 0 ? -1 : pieces.function[piece]);
    const addTo = (map, other, count) => map.set(other, (map.get(other) ?? 0) + count);
    for (let i = 0; i < description.edges; i++) {
      const from = functionOf(edges.from[i]), to = functionOf(edges.to[i]);
      if (from !== number && to !== number)
        continue;
      if (from === to)
        this.inside.push({from: this.rowOf.get(edges.from[i] + "/" + edges.fromBlock[i]),
                          to: this.rowOf.get(edges.to[i] + "/" + edges.toBlock[i]),
                          count: edges.count[i], mispredicted: edges.mispredicted[i]});
      else if (!edges.isEntry[i])
        this.others += edges.count[i];
      else if (to === number)
        addTo(callers, from, edges.count[i]);
      else
        addTo(callees, to, edges.count[i]);
    }
    this.inside = this.inside.filter((edge) => edge.from !== undefined && edge.to !== undefined)
      .sort((a, b) => b.count - a.count);
    const sorted = (map) => [...map].sort((a, b) => b[1] - a[1]);
    this.callers = sorted(callers);
    this.callees = sorted(callees);
  }

  // --- Elements ----------------------------------------------------------------------------------

  makeFacts(number) {
    const list = [...piecesOf(number)], name = profileName(number);
    const cold = list.filter((piece) => pieces.kind[piece] === COLD);
    const coldSamples = cold.reduce((sum, piece) => sum + pieces.samples[piece], 0);
    const address = hexText(addressOf(functions.main[number]));
    return make("dl", {class: "origin"},
      fact("Name in profiles", nameElement(name)),
      fact("After BOLT", `${address}, ${numberText(functions.bytes[number])} bytes`,
           cold.length ? `; ${numberText(cold.length)} cold fragment${cold.length > 1 ? "s" : ""} with ${numberText(functions.coldBytes[number])} bytes` : ""),
      functions.inputSection[number] < 0 ? [] :
        fact("Before", `${hexText(inputAddressOf(number))}, ${numberText(functions.inputSize[number])} bytes`),
      fact("Samples", `${numberText(functions.samples[number])} (${shareText(functions.samples[number], description.samples) || "0%"})`,
           cold.length ? `, of these ${numberText(coldSamples)} in cold fragments` : ""),
      fact("Blocks", `${numberText(this.inputs.length)} in the input, ${numberText(this.outputs.filter((r) => !r.isWhole).length)} in the output` +
           (functions.isReordered[number] ? ", in a new order" : "")),
      refusalsOf(number).map(({form, counts, reason, name}) => fact(`llvm-bolt refuses its ${form}`,
        `${numberText(counts)} counts: ${reason}`, ...(name ? ["; there it is ", nameElement(name)] : []))).flat(),
      fact("Map", make("a", {href: "#map?s=" + address}, "show this function on the map")));
  }

  lineText(file, line) {
    if (file < 0 || !line)
      return "";
    const path = this.files.get(file);
    return path.slice(path.lastIndexOf("/") + 1) + ":" + line;
  }

  makeRow(id, label, count, size, file, line, cold) {
    const source = this.lineText(file, line);
    return blockRow(id, label, size, count, heatOf(count, this.most), cold, source && [source, this.files.get(file) + ":" + line]);
  }

  makeBlocks(number) {
    const input = make("ol", {class: "blocks input", "aria-label": "Input order"});
    const output = make("ol", {class: "blocks output", "aria-label": "Output order"});
    const inputY = [], outputY = [];
    this.inputs.forEach((row, i) => {
      inputY.push(i * BLOCK_ROW + BLOCK_ROW / 2);
      const size = row.end === undefined ? "" : `${row.end - row.at} B`;
      const gone = row.rows.length ? "" : ", removed";
      const isCold = row.rows.length && row.rows.every((r) => pieces.kind[this.outputs[r].piece] === COLD);
      input.append(this.makeRow("in-" + i, [`+${hexText(row.at)}${gone}`, ""], row.count, size, row.file, row.line, isCold));
    });
    let y = 0, last = -1;
    this.outputs.forEach((row, i) => {
      if (row.piece !== last) {
        const kind = pieces.kind[row.piece];
        output.append(pieceRow(kind, `${kindNames[kind]} at ${hexText(addressOf(row.piece))}`,
                               `, ${numberText(pieces.size[row.piece])} bytes, ${numberText(pieces.samples[row.piece])} samples`));
        y += BLOCK_ROW;
        last = row.piece;
      }
      outputY.push(y + BLOCK_ROW / 2);
      y += BLOCK_ROW;
      output.append(this.makeRow("out-" + i, outputLabel(row), row.count, `${row.end - row.from} B`, row.file, row.line,
                                 pieces.kind[row.piece] === COLD));
    });
    const tall = Math.max(this.inputs.length * BLOCK_ROW, y);
    const links = sideSvg("links", LINK_WIDTH, tall);
    const arcs = ["input", "output"].map((side) => sideSvg("arcs " + side, ARC_WIDTH, tall));
    const grid = make("div", {class: "sides"}, make("div", {class: "middle"}, arcs[0]),
      make("div", {class: "side"}, make("h3", {}, "Input order"), input), make("div", {class: "middle"}, links),
      make("div", {class: "side"}, make("h3", {}, "Output order"), output), make("div", {class: "middle"}, arcs[1]));
    this.grid = grid;
    const touched = walkBlocks(grid, (block) => this.mark(block));
    const drawings = [[links, this.linkCurves(inputY, outputY)], [arcs[0], this.arcCurves(this.edgesOfInput(), inputY, true)],
                      [arcs[1], this.arcCurves(this.inside, outputY, false)]];
    showNear(grid, [inputY, outputY], drawings, () => this.showMark());
    const isHeat = description.hasProfile ? "The number is how often the block ran; curves at the sides are branches that were taken. " : "";
    return [make("h3", {}, "Blocks"), make("p", {class: "remark"},
      "Offsets count from the start of the part; behind the arrow is the offset in the input function. " + isHeat, make("span", {class: "keys"}, BLOCK_KEYS)), grid, touched];
  }

  linkCurves(inputY, outputY) {
    return this.inputs.flatMap((input, i) => input.rows.map((row) =>
      curve(inputY[i], outputY[row], () => [linkPath(inputY[i], outputY[row], heatOf(this.outputs[row].count, this.most), i, row)])));
  }

  // The taken branches between the blocks of the input. One of its blocks may be in the output twice.
  edgesOfInput() {
    const edges = new Map();
    for (const {from, to, count} of this.inside) {
      const [a, b] = [this.inputOf.get(from), this.inputOf.get(to)];
      if (a === undefined || b === undefined)
        continue;
      const edge = edges.get(a + "/" + b) ?? {from: a, to: b, count: 0};
      edge.count += count;
      edges.set(a + "/" + b, edge);
    }
    return [...edges.values()].sort((a, b) => b.count - a.count);
  }

  // Curves from heights to heights, out to the right, or to the left of the input.
  arcCurves(edges, heights, isInput) {
    const most = edges.reduce((m, edge) => Math.max(m, edge.count), 0);
    const x = (value) => (isInput ? ARC_WIDTH - value : value);
    const [from, to] = isInput ? ["data-in-from", "data-in-to"] : ["data-from", "data-to"];
    const text = (i) => (isInput ? `+${hexText(this.inputs[i].at)}` : this.rowText(i));
    return [...edges].reverse().map((edge) => curve(heights[edge.from], heights[edge.to], () => {
      const a = heights[edge.from], b = heights[edge.to], heat = heatOf(edge.count, most);
      const reach = Math.min(ARC_WIDTH - 8, 14 + Math.abs(a - b) / 5) * 1.3;
      const d = edge.from === edge.to ? `M${x(0)} ${a - 5}C${x(22)} ${a - 9} ${x(22)} ${a + 9} ${x(0)} ${a + 5}`
                                      : `M${x(0)} ${a}C${x(reach)} ${a} ${x(reach)} ${b} ${x(6)} ${b}`;
      const path = makeSvg("path", {d, class: "arc", stroke: heatColor(heat), "stroke-width": 0.8 + 2.4 * heat,
                                    [from]: edge.from, [to]: edge.to},
                           makeSvg("title", {}, `${text(edge.from)} to ${text(edge.to)}: ${numberText(edge.count)}`));
      return edge.from === edge.to
        ? [path] : [path, makeSvg("path", {d: `M${x(0)} ${b}L${x(7)} ${b - 3.5}v7z`, fill: heatColor(heat), class: "arrow"})];
    }));
  }

  // Mark what belongs to a block: its other places and its branches.
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
    const [side, i] = block.id.split("-");
    const rows = side === "out" ? [Number(i)] : this.inputs[i].rows;
    const inputs = side === "in" ? [Number(i)] : this.inputs.flatMap((input, j) => (input.rows.includes(Number(i)) ? [j] : []));
    const select = [...rows.flatMap((r) => [`#out-${r}`, `[data-out="${r}"]`, `[data-from="${r}"]`, `[data-to="${r}"]`]),
                    ...inputs.flatMap((j) => [`#in-${j}`, `[data-in-from="${j}"]`, `[data-in-to="${j}"]`])];
    if (select.length)
      this.grid.querySelectorAll(select.join(",")).forEach((element) => element.classList.add("marked"));
  }

  rowText(row) {
    const {piece, from} = this.outputs[row];
    return `${pieces.kind[piece] === COLD ? "cold " : ""}+${hexText(from)}`;
  }

  makeTable(title, heads, rows) {
    if (!rows.length)
      return null;
    const body = make("tbody", {}, rows.slice(0, ROWS_SHOWN).map((cells) => this.makeCells(cells)));
    const more = rows.length > ROWS_SHOWN &&
      make("button", {type: "button", click: () => {
        body.append(...rows.slice(ROWS_SHOWN).map((cells) => this.makeCells(cells)));
        more.remove();
      }}, `${numberText(rows.length - ROWS_SHOWN)} more`);
    return make("div", {class: "card"}, make("h3", {}, title),
      make("table", {class: "rows", "aria-label": title}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", {scope: "col"}, head)))), body),
      more || null);
  }

  makeCells([first, ...others]) {
    return make("tr", {}, make("th", {scope: "row"}, first), others.map((cell) => make("td", {}, cell)));
  }

  link(number) {
    return number < 0 ? "outside of known functions"
                      : make("a", {href: "#f=" + hexText(addressOf(functions.main[number]))}, nameElement(nameOf(number)));
  }

  // What is around the function comes before its blocks, which may be thousands.
  makeCalls() {
    const tables = [
      this.makeTable("Called by", ["function", "times"], this.callers.map(([number, count]) => [this.link(number), numberText(count)])),
      this.makeTable("Calls", ["function", "times"], this.callees.map(([number, count]) => [this.link(number), numberText(count)])),
    ].filter(Boolean);
    const remark = this.others ? make("p", {class: "remark"},
      `Returns, and jumps to other places than a function's start: ${numberText(this.others)}.`) : null;
    return tables.length || remark ? [make("div", {class: "cards"}, tables), remark ?? ""] : [];
  }

  makeBranches() {
    const table = this.makeTable("Taken branches inside", ["from", "to", "taken", "mispredicted"], this.inside.map((edge) =>
      [this.rowText(edge.from), this.rowText(edge.to), numberText(edge.count), numberText(edge.mispredicted)]));
    return table ? [make("div", {class: "cards"}, table)] : [];
  }
}
