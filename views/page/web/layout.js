// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The map of one binary: all code before BOLT, and all code after it.
import { kindNames } from "./code.js";
import { addressOf, blocksNow, code, functions, inputAddressOf, nameFilter, nameOf, pieceAt, pieces, piecesOf } from "./data.js";
import { make, nameElement } from "./dom.js";
import { hexText, numberText, shareText } from "./format.js";
import { heatColor, heatOf } from "./heat.js";
import { Lane, makeLane } from "./lane.js";
import { CodeMap } from "./map.js";
import { description } from "./packed.js";

// The heat of the input blocks of a function: [start, end, count], ascending. null as long as the
// blocks are not at hand.
function inputBlocks(number, ready) {
  const all = [];
  for (const piece of piecesOf(number)) {
    const blocks = blocksNow(piece, ready);
    if (!blocks)
      return null;
    for (let i = 0; i < blocks.length; i++)
      all.push([blocks.input[i], 0, blocks.count[i]]);
  }
  all.sort((a, b) => a[0] - b[0]);
  const joined = [];
  for (const block of all) {
    const last = joined[joined.length - 1];
    if (last && last[0] === block[0])
      last[2] += block[2];
    else
      joined.push(block);
  }
  joined.forEach((block, i) => (block[1] = i + 1 < joined.length ? joined[i + 1][0] : functions.inputSize[number]));
  return joined;
}

function makeBefore() {
  const numbers = [];
  for (let i = 0; i < description.functions; i++)
    if (functions.inputSection[i] >= 0)
      numbers.push(i);
  numbers.sort((a, b) => functions.inputSection[a] - functions.inputSection[b] ||
                         functions.inputStart[a] - functions.inputStart[b]);
  // Of folded functions, one: their code is the same.
  const kept = numbers.filter((number, i) => i === 0 || functions.inputSection[number] !== functions.inputSection[numbers[i - 1]] ||
                                             functions.inputStart[number] !== functions.inputStart[numbers[i - 1]]);
  const lane = new Lane("before BOLT", description.input, {
    count: kept.length,
    usesSection: () => true,
    section: (i) => functions.inputSection[kept[i]],
    start: (i) => functions.inputStart[kept[i]],
    size: (i) => functions.inputSize[kept[i]],
    functionOf: (i) => kept[i],
    executed: (i) => functions.executed[kept[i]],
    kind: (i) => pieces.kind[functions.main[kept[i]]],
  }, description.functions, (item, ready) => inputBlocks(kept[item], ready));
  lane.itemOf = new Int32Array(description.functions).fill(-1);
  kept.forEach((number, i) => (lane.itemOf[number] = i));
  return lane;
}

function keyOf(number) {
  return hexText(addressOf(functions.main[number]));
}

// What is said of a function that was selected.
function describe(number) {
  const parts = [...piecesOf(number)].map((piece) =>
    make("li", {}, `${kindNames[pieces.kind[piece]]}: ${hexText(addressOf(piece))}, ${numberText(pieces.size[piece])} bytes, ` +
                   `${numberText(pieces.samples[piece])} samples`));
  if (functions.inputSection[number] >= 0)
    parts.unshift(make("li", {}, `before: ${hexText(inputAddressOf(number))}, ${numberText(functions.inputSize[number])} bytes`));
  return [
    make("h3", {}, make("a", {href: "#f=" + keyOf(number)}, nameElement(nameOf(number)))),
    make("p", {}, `${numberText(functions.samples[number])} samples, ${shareText(functions.samples[number], description.samples) || "0%"}`),
    make("ul", {}, parts)];
}

export class LayoutMap extends CodeMap {
  constructor(section) {
    const after = makeLane("after BOLT", code, (piece) => pieces.function[piece], description.functions);
    const before = description.hasInput ? makeBefore() : undefined;
    const hottest = Array.from(functions.executed.keys()).filter((number) => functions.executed[number] > 0)
      .sort((a, b) => functions.executed[b] - functions.executed[a]);
    const best = hottest.length ? functions.executed[hottest[0]] : 0;
    super(section, {
      after, before, order: hottest, nameOf, keyOf, describe, nameFilter, count: description.functions,
      names: ["before", "after"],
      mainItem: (lane, number) => (lane === after ? functions.main[number] : before.itemOf[number]),
      pairs: (number) => [...piecesOf(number)].map((piece) => [before ? before.itemOf[number] : -1, piece]),
      joinStyle: (number) => {
        const heat = heatOf(functions.executed[number], best);
        return {color: heatColor(heat), alpha: 0.15 + 0.5 * heat * heat};
      },
      numberAt: (text) => {
        const piece = pieceAt(text);
        return piece < 0 ? -1 : pieces.function[piece];
      },
      addressOf: (lane, item, offset) => (lane === after ? addressOf(item, offset)
                                                         : inputAddressOf(lane.items.functionOf(item), offset)),
      placeName: (lane, item) => (lane === after ? kindNames[pieces.kind[item]] : "before"),
      samplesOf: (lane, item) => (lane === after ? pieces.samples[item] : functions.samples[lane.items.functionOf(item)]),
      remark: "Heat is how often the bytes of a pixel ran, on a logarithmic scale.",
    });
  }
}
