// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two lists of blocks side by side, and curves between the places of one block.
import { blockEnd } from "./code.js";
import { make, makeSvg } from "./dom.js";
import { hexText, numberText } from "./format.js";
import { heatColor } from "./heat.js";

export const BLOCK_ROW = 26, LINK_WIDTH = 90;

// What is so near to what is in sight is shown, in pixels. FILLED: the rows of a function whose rows are all filled.
const NEAR = 1000, FILLED = 4000;

// The pieces of a function with their blocks, the main piece first: [piece, blocks].
export async function piecesInOrder(code, number) {
  const list = [...code.piecesOf(number)], main = code.functions.main[number];
  const blocks = await Promise.all(list.map((piece) => code.blocksOf(piece)));
  return list.map((piece, i) => [piece, blocks[i]]).sort((a, b) => (b[0] === main) - (a[0] === main) || a[0] - b[0]);
}

// The blocks with code of one piece: {piece, block, from, end, input, count, file, line}; a piece of which none
// are known is one block.
export function blockRows(code, piece, blocks) {
  const size = code.pieces.size[piece], rows = [];
  for (let i = 0; i < blocks.length; i++) {
    const end = blockEnd(blocks, i, size);
    if (blocks.output[i] < end)
      rows.push({piece, block: i, from: blocks.output[i], end, input: blocks.input[i], count: blocks.count[i],
                 file: blocks.file[i], line: blocks.line[i]});
  }
  if (blocks.length === 0)
    rows.push({piece, block: 0, from: 0, end: size, input: -1, count: code.pieces.samples[piece], file: -1, line: 0, isWhole: true});
  return rows;
}

// outputs: blocks with code of a function, in the output's order, the main piece first; inputs: all blocks of the input,
// ascending, each with the outputs that come from it; rowOf: the output of "piece/block". order: piecesInOrder().
export function blocksOfBoth(code, number, order) {
  const outputs = [], rowOf = new Map(), places = new Map();
  for (const [piece, blocks] of order) {
    for (let i = 0; i < blocks.length; i++)
      if (!places.has(blocks.input[i]))
        places.set(blocks.input[i], {from: blocks.input[i], count: 0, rows: [], file: blocks.file[i], line: blocks.line[i]});
    for (const row of blockRows(code, piece, blocks)) {
      rowOf.set(piece + "/" + row.block, outputs.length);
      if (!row.isWhole) {
        places.get(row.input).count += row.count;
        places.get(row.input).rows.push(outputs.length);
      }
      outputs.push(row);
    }
  }
  const inputs = [...places.values()].sort((a, b) => a.from - b.from);
  inputs.forEach((input, i) => (input.end = inputs[i + 1]?.from ?? (code.functions.inputSize[number] || undefined)));
  return {inputs, outputs, rowOf};
}

// The title of a part's blocks in a list: what it is and where, and more, for which a phone has no room.
export function pieceRow(kind, text, more) {
  return make("li", {class: "piece key-" + kind}, make("span", {}, text), make("span", {class: "more"}, more));
}

// A row of a list: label, [offset, where it comes from or ""]; size, a text, or a function that makes it; count; heat, from
// 0 to 1; isCold; isStart, of a block of instructions; source, [text, title], or nothing. It is empty before its fill() is
// called.
export function blockRow(id, cells) {
  const names = ["block", cells.isCold && "is-cold", cells.isStart && "is-start"].filter(Boolean);
  const row = make("li", {id, class: names.join(" "), tabindex: "-1", title: cells.source?.[1]});
  row.fill = () => {
    row.fill = undefined;
    row.append(...blockCells(cells));
  };
  return row;
}

function blockCells({label, size, count, heat, source}) {
  const bar = make("span", {class: "bar", "aria-hidden": "true"});
  bar.style.width = 100 * heat + "%";
  bar.style.background = heatColor(heat);
  return [bar, make("span", {class: "at"}, label[0], make("span", {class: "from"}, label[1] && " ← " + label[1])),
          make("span", {class: "size"}, typeof size === "function" ? size() : size),
          make("span", {class: "source"}, make("bdi", {}, source?.[0] ?? "")), make("span", {class: "count"}, numberText(count))];
}

// Fills rows and draws curves when they come near what is in sight, so that functions of thousands of blocks open at
// once, too. lists: the heights of the rows' middles in each list of the grid; drawings: [svg, curves], each curve
// {low, high, draw()}; drawn() is called when there is more.
export function showNear(grid, lists, drawings, drawn) {
  const rows = [...grid.querySelectorAll(".blocks")].flatMap((list, side) =>
    [...list.querySelectorAll(".block")].map((row, i) => [row, lists[side][i]]));
  const left = drawings.map(([svg, curves]) => [svg, curves]);
  let isAsked = false, next = 0;
  const show = (from, to) => {
    for (const [row, height] of rows)
      if (height >= from && height <= to)
        row.fill?.();
    for (const drawing of left) {
      const [svg, curves] = drawing;
      svg.append(...curves.filter(({low, high}) => high >= from && low <= to).flatMap(({draw}) => draw()));
      drawing[1] = curves.filter(({low, high}) => high < from || low > to);
    }
    drawn();
  };
  const look = () => {
    isAsked = false;
    const from = -grid.getBoundingClientRect().top - NEAR;
    show(from, from + innerHeight + 2 * NEAR);
  };
  const ask = () => {
    if (!grid.isConnected) {
      removeEventListener("scroll", ask);
      removeEventListener("resize", ask);
      removeEventListener("beforeprint", all);
    } else if (!isAsked) {
      isAsked = true;
      requestAnimationFrame(look);
    }
  };
  const all = () => grid.isConnected && show(-Infinity, Infinity);
  // The rest, if it is not too much, so that the browser can search in it.
  const rest = (time) => {
    const least = next + 100;
    for (; grid.isConnected && next < rows.length && (next < least || time.timeRemaining() > 2); next++)
      rows[next][0].fill?.();
    if (grid.isConnected && next < rows.length)
      requestIdleCallback(rest, {timeout: 100});
  };
  addEventListener("scroll", ask, {passive: true});
  addEventListener("resize", ask);
  addEventListener("beforeprint", all);
  look();
  requestAnimationFrame(ask);
  if (rows.length <= FILLED)
    requestIdleCallback(rest, {timeout: 100});
}

// Each list of blocks in the grid is one stop for Tab. From there, up and down go from block to block, and left and
// right to the block's place in the other list, which mark(block) has marked. Returns an element that says all of the
// block that has the focus: a phone has no room for that in its row.
export function walkBlocks(grid, mark) {
  const touched = make("p", {class: "touched", "aria-hidden": "true"});
  for (const list of grid.querySelectorAll(".blocks"))
    list.querySelector(".block")?.setAttribute("tabindex", "0");
  grid.addEventListener("mouseover", (event) => mark(event.target.closest?.(".block")));
  grid.addEventListener("focusin", (event) => {
    const block = event.target.closest?.(".block");
    block?.parentElement.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    block?.setAttribute("tabindex", "0");
    mark(block);
    if (block) {
      const [at, size, source, count] = [...block.querySelectorAll(":scope > span:not(.bar)")].map((cell) => cell.textContent);
      touched.textContent = [at, size, block.title && source, `ran ${count}×`].filter(Boolean).join(", ");
    }
  });
  grid.addEventListener("keydown", (event) => {
    const block = event.target.closest?.(".block");
    const near = (next) => {
      let other = block[next];
      while (other && !other.classList.contains("block"))
        other = other[next];
      return other;
    };
    const inList = (side, which) => grid.querySelector(`.blocks.${side} ${which}`);
    const ends = () => block.parentElement.querySelectorAll(".block");
    const steps = {
      ArrowDown: () => near("nextElementSibling"), ArrowUp: () => near("previousElementSibling"),
      ArrowLeft: () => inList("input", ".marked"), ArrowRight: () => inList("output", ".marked"),
      Home: () => ends()[0], End: () => [...ends()].pop(),
    };
    if (!block || !(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey)
      return;
    event.preventDefault();
    mark(block);
    const other = steps[event.key]();
    other?.fill?.();
    other?.focus();
  });
  return touched;
}

export const BLOCK_KEYS = "With the keyboard, up and down go from block to block, left and right to its other place. ";

export function sideSvg(name, width, tall) {
  return makeSvg("svg", {class: name, preserveAspectRatio: "none", width, height: tall, viewBox: `0 0 ${width} ${tall}`,
                         "aria-hidden": "true"});
}

// What showNear() draws if something between two heights is in sight.
export function curve(a, b, draw) {
  return {low: Math.min(a, b), high: Math.max(a, b), draw};
}

// A curve from height a on the left to height b on the right.
export function linkPath(a, b, heat, left, right) {
  return makeSvg("path", {d: `M0 ${a}C${LINK_WIDTH / 2} ${a} ${LINK_WIDTH / 2} ${b} ${LINK_WIDTH} ${b}`, "data-in": left, "data-out": right,
                          class: heat ? "link ran" : "link", stroke: heat ? heatColor(heat) : "currentColor"});
}

export function outputLabel(row) {
  return row.isWhole ? ["whole, no blocks known", ""] : [`+${hexText(row.from)}`, `+${hexText(row.input)}`];
}
