// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of one function: its blocks in the order of the input and of the output, and its branches.
import { blocksOfBoth, outputLabel, piecesInOrder } from "./blocks.js";
import { COLD, kindNames } from "./code.js";
import { addressOf, code, functions, inputAddressOf, loadEdges, loadFiles, nameOf, pieceAt, pieces, piecesOf, profileName } from "./data.js";
import { fact, make, nameElement, noteState } from "./dom.js";
import { hexText, numberText, shareText } from "./format.js";
import { loadInstructions } from "./instructions.js";
import { loadChanged } from "./next.js";
import { description } from "./packed.js";
import { refusalsOf } from "./refused.js";
import { SidesPage, placeText } from "./sides.js";

// Rows of a table that are shown at first: of calls, which are above the code, and of branches.
const CALLS_SHOWN = 8, BRANCHES_SHOWN = 50;

export class FunctionPage extends SidesPage {
  numberAt(text) {
    const piece = pieceAt(text);
    return piece < 0 ? -1 : pieces.function[piece];
  }

  nameOf(number) {
    return nameOf(number);
  }

  load(number) {
    return Promise.all([piecesInOrder(code, number), loadEdges(), loadFiles(), loadInstructions(), loadChanged()]);
  }

  fill(number, [order, edges, files, instructions, changed]) {
    this.files = files;
    this.next = changed.findIndex((row) => row.number === number && row.newName);
    Object.assign(this, blocksOfBoth(code, number, order));
    this.gatherEdges(number, edges);
    const facts = this.makeFacts(number), hasCode = Boolean(instructions?.after.has(functions.main[number]));
    const listing = hasCode ? this.gatherInstructions(number, order, instructions) : {outputs: []};
    this.isCode = hasCode && this.state.show === "instructions";
    if (this.isCode)
      Object.assign(this, listing);
    return [facts, ...this.makeCalls(this.linesOf(listing.outputs)), ...this.makeCode(hasCode), ...this.makeBranches()];
  }

  // --- Data --------------------------------------------------------------------------------------

  // The lists, and the branches in them, of instructions in place of blocks. An instruction of the output comes from
  // the one that is as far from its block's start in the input.
  gatherInstructions(number, order, {before, after}) {
    const ends = new Map(this.inputs.map(({from, end}) => [from, end]));
    const inputs = before.rowsOf(number).map((row) => ({...row, isStart: ends.has(row.from)}));
    const inputAt = new Map(inputs.map(({from}, i) => [from, i]));
    const outputs = order.flatMap(([piece, blocks]) => {
      let block = -1;
      return after.rowsOf(piece).map((row) => {
        while (block + 1 < blocks.length && blocks.output[block + 1] <= row.from)
          block++;
        const inside = row.from - blocks.output[block], place = blocks.input[block] + inside;
        const source = place < (ends.get(blocks.input[block]) ?? Infinity) ? inputAt.get(place) : undefined;
        const {file, line} = row.file < 0 && source !== undefined ? inputs[source] : row;
        return {...row, piece, file, line, source, isStart: inside === 0};
      });
    });
    const links = outputs.flatMap(({source}, i) => (source === undefined ? [] : [[source, i]]));
    const edges = [inputs, outputs].map((rows) => {
      const rowOf = new Map(rows.map((row, i) => [row.number, i]));
      return rows.flatMap(({ways, passed}, from) => (ways ?? []).map(({to, count, mispredicted}) =>
        ({from, to: rowOf.get(to), count, mispredicted, text: ` taken, ${numberText(mispredicted)} mispredicted, ${numberText(passed)} not taken`})))
        .filter(({to}) => to !== undefined).sort((a, b) => b.count - a.count);
    });
    return {inputs, outputs, links, edges};
  }

  // The lines that ran most: [element, share of all instructions that ran].
  linesOf(rows) {
    const sums = new Map(), whole = rows.reduce((sum, {count}) => sum + count, 0);
    for (const {file, line, count} of rows) {
      const text = this.lineText(file, line);
      if (text && count)
        sums.set(text, {path: this.files.get(file), count: count + (sums.get(text)?.count ?? 0)});
    }
    return [...sums].sort((a, b) => b[1].count - a[1].count)
      .map(([text, {path, count}]) => [make("bdi", {title: path}, text), shareText(count, whole)]);
  }

  gatherEdges(number, edges) {
    const inside = [];
    const callers = new Map(), callees = new Map();
    this.others = 0;
    const functionOf = (piece) => (piece < 0 ? -1 : pieces.function[piece]);
    const addTo = (map, other, count) => map.set(other, (map.get(other) ?? 0) + count);
    for (let i = 0; i < description.edges; i++) {
      const from = functionOf(edges.from[i]), to = functionOf(edges.to[i]);
      if (from !== number && to !== number)
        continue;
      if (from === to)
        inside.push({from: this.rowOf.get(edges.from[i] + "/" + edges.fromBlock[i]),
                     to: this.rowOf.get(edges.to[i] + "/" + edges.toBlock[i]),
                     count: edges.count[i], mispredicted: edges.mispredicted[i]});
      else if (!edges.isEntry[i])
        this.others += edges.count[i];
      else if (to === number)
        addTo(callers, from, edges.count[i]);
      else
        addTo(callees, to, edges.count[i]);
    }
    const output = inside.filter((edge) => edge.from !== undefined && edge.to !== undefined).sort((a, b) => b.count - a.count);
    this.links = this.inputs.flatMap(({rows}, i) => rows.map((row) => [i, row]));
    this.edges = [this.edgesOfInput(output), output];
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
      fact("Next build", this.next < 0 ? "" : make("a", {href: "#next?f=" + this.next}, "changed: what it gets of the profile")),
      fact("Map", make("a", {href: "#map?s=" + address}, "show this function on the map")));
  }

  lineText(file, line) {
    if (file < 0 || !line)
      return "";
    const path = this.files.get(file);
    return path.slice(path.lastIndexOf("/") + 1) + ":" + line;
  }

  headOf(side, piece) {
    const kind = pieces.kind[piece];
    return [kind, `${kindNames[kind]} at ${hexText(addressOf(piece))}`,
            `, ${numberText(pieces.size[piece])} bytes, ${numberText(pieces.samples[piece])} samples`];
  }

  cellsOf(side, row) {
    const line = this.lineText(row.file, row.line), source = line && [line, this.files.get(row.file) + ":" + row.line];
    const isCold = side ? pieces.kind[row.piece] === COLD
                        : row.rows?.length && row.rows.every((i) => pieces.kind[this.outputs[i].piece] === COLD);
    if (this.isCode)
      return {label: [`+${hexText(row.from)}`, ""], size: () => this.makeInstruction(side, row), isCold, isStart: row.isStart, source};
    if (side)
      return {label: outputLabel(row), size: `${row.end - row.from} B`, isCold, source};
    return {label: [`+${hexText(row.from)}${row.rows.length ? "" : ", removed"}`, ""],
            size: row.end === undefined ? "" : `${row.end - row.from} B`, isCold, source};
  }

  makeInstruction(side, {text, callee, to, ways, passed}) {
    const rows = [this.inputs, this.outputs][side], taken = (ways ?? []).reduce((sum, {count}) => sum + count, 0);
    const counts = [taken && `${numberText(taken)} taken`, passed && `${numberText(passed)} not`].filter(Boolean).join(", ");
    const i = to === undefined ? -1 : rows.findIndex(({number}) => number === to);
    return make("span", {}, make("code", {}, text, " ", callee === undefined ? "" : this.link(callee), i < 0 ? "" : this.rowText(side, i)), " ",
                make("span", {class: "ways"}, counts));
  }

  makeCode(hasCode) {
    const choose = (show) => {
      this.state = {...this.state, show};
      noteState("function", {f: this.state.f, show});
      this.show(this.number).then(() => this.body.querySelector("[aria-pressed=true]").focus({preventScroll: true}));
    };
    const button = (text, show) => make("button", {type: "button", "aria-pressed": String(this.isCode === Boolean(show)), click: () => choose(show)}, text);
    const choice = hasCode ? [make("div", {class: "tools"}, button("Blocks"), button("Instructions", "instructions"))] : [];
    const ran = description.hasProfile ? ` The number is how often the ${this.isCode ? "instruction" : "block"} ran; curves at the sides are branches that were taken. ` : " ";
    const other = hasCode || !description.samples ? "" : description.instructions[1]
      ? "The page has the instructions of the hottest functions only. " : "There are no instructions: batkit has no disassembler for this instruction set. ";
    return [make("h3", {}, this.isCode ? "Instructions" : "Blocks"), ...choice, ...this.makeSides({
      titles: this.isCode ? ["Before", "After"] : ["Input order", "Output order"], lists: [this.inputs, this.outputs], links: this.links,
      drawn: this.isCode ? this.links.filter(([, i]) => this.outputs[i].isStart) : this.links, arcs: this.edges, name: this.isCode ? "code" : "",
      absent: description.hasInput ? "not there" : "--original=INPUT adds it",
      remark: (this.isCode ? "Offsets count from the start of the part." :
        "Offsets count from the start of the part; behind the arrow is the offset in the input function.") + ran + other})];
  }

  // The taken branches between the blocks of the input. One of its blocks may be in the output twice.
  edgesOfInput(output) {
    const edges = new Map(), inputOf = new Map(this.links.map(([i, row]) => [row, i]));
    for (const {from, to, count} of output) {
      const [a, b] = [inputOf.get(from), inputOf.get(to)];
      if (a === undefined || b === undefined)
        continue;
      const edge = edges.get(a + "/" + b) ?? {from: a, to: b, count: 0};
      edge.count += count;
      edges.set(a + "/" + b, edge);
    }
    return [...edges.values()].sort((a, b) => b.count - a.count);
  }

  rowText(side, i) {
    return side ? placeText(this.outputs[i].from, pieces.kind[this.outputs[i].piece] === COLD) : placeText(this.inputs[i].from);
  }

  makeTable(title, heads, rows, shown) {
    if (!rows.length)
      return null;
    const body = make("tbody", {}, rows.slice(0, shown).map((cells) => this.makeCells(cells)));
    const more = rows.length > shown &&
      make("button", {type: "button", click: () => {
        body.append(...rows.slice(shown).map((cells) => this.makeCells(cells)));
        more.remove();
      }}, `${numberText(rows.length - shown)} more`);
    return make("div", {class: "card"}, make("h3", {}, title),
      make("table", {class: "rows", "aria-label": title}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", {scope: "col"}, head)))), body),
      more || null);
  }

  makeCells([first, ...others]) {
    return make("tr", {}, make("th", {scope: "row"}, first), others.map((cell) => make("td", {}, cell)));
  }

  link(number) {
    return number < 0 ? "outside of known functions"
                      : make("a", {href: "#f=" + hexText(addressOf(functions.main[number])) + (this.isCode ? "&show=instructions" : "")},
                           nameElement(nameOf(number)));
  }

  // What is around the function comes before its blocks, which may be thousands.
  makeCalls(lines) {
    const tables = [
      this.makeTable("Lines that ran most", ["line", "instructions"], lines, CALLS_SHOWN),
      this.makeTable("Called by", ["function", "times"], this.callers.map(([number, count]) => [this.link(number), numberText(count)]), CALLS_SHOWN),
      this.makeTable("Calls", ["function", "times"], this.callees.map(([number, count]) => [this.link(number), numberText(count)]), CALLS_SHOWN),
    ].filter(Boolean);
    const remark = this.others ? make("p", {class: "remark"},
      `Returns, and jumps to other places than a function's start: ${numberText(this.others)}.`) : null;
    return tables.length || remark ? [make("div", {class: "cards"}, tables), remark ?? ""] : [];
  }

  makeBranches() {
    const table = this.makeTable("Taken branches inside", ["from", "to", "taken", "mispredicted"], this.edges[1].map((edge) =>
      [this.rowText(1, edge.from), this.rowText(1, edge.to), numberText(edge.count), numberText(edge.mispredicted)]), BRANCHES_SHOWN);
    return table ? [make("div", {class: "cards"}, table)] : [];
  }
}
