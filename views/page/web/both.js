// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The map of two binaries: the code of the old one above that of the new one.
import { kindNames } from "./code.js";
import { make, nameElement } from "./dom.js";
import { hexText, numberText } from "./format.js";
import { heatColor, heatOf, styleColor } from "./heat.js";
import { makeLane } from "./lane.js";
import { CodeMap, HEAT } from "./map.js";
import { COMPARED, OTHER, changeText, classNames, classOf, hasProfile, keyOf, nameFilter, nameOf, now, old, rowAt, rows, sides, sizeOf } from "./pairs.js";

const CLASSES = 5;

// The main item and the fragments of a row on one side, -1 and none without a function.
function itemsOf(side, row) {
  const number = rows.of[side][row];
  if (number < 0)
    return [-1, []];
  const main = sides[side].functions.main[number];
  return [main, [...sides[side].piecesOf(number)].filter((piece) => piece !== main)];
}

// The main parts are joined, and the fragments one by one; those that the other side lacks, with its last part.
function pairsOf(row) {
  const [main, fragments] = itemsOf(0, row), [newMain, newFragments] = itemsOf(1, row);
  if (main < 0 || newMain < 0)
    return [];
  const left = [main, ...fragments], right = [newMain, ...newFragments];
  return Array.from({length: Math.max(left.length, right.length)}, (unused, i) =>
    [left[Math.min(i, left.length - 1)], right[Math.min(i, right.length - 1)]]);
}

// In each pixel the share of each class, a bar that grows away from the joins.
function drawClasses(context, lane, place, width) {
  const scale = width / (lane.to - lane.from), shares = new Float32Array(width * CLASSES);
  for (let i = lane.first(lane.from); i < lane.items.count && lane.at[i] < lane.to; i++) {
    const kind = lane.classes[i];
    if (kind === OTHER)
      continue;
    let x = Math.max(0, (lane.at[i] - lane.from) * scale);
    const end = Math.min(width, (lane.at[i] + lane.sizes[i] - lane.from) * scale);
    for (let pixel = Math.floor(x); pixel < end && pixel < width; pixel++) {
      const next = Math.min(end, pixel + 1);
      shares[pixel * CLASSES + kind] += next - x;
      x = next;
    }
  }
  const colors = classNames.map(([name]) => styleColor(name));
  for (let pixel = 0; pixel < width; pixel++) {
    let at = 0;
    for (let kind = 0; kind < CLASSES; kind++) {
      const tall = shares[pixel * CLASSES + kind] * (HEAT - 6);
      if (tall <= 0)
        continue;
      context.fillStyle = colors[kind];
      context.fillRect(pixel, place.grows < 0 ? place.heat + HEAT - at - tall : place.heat + at, 1, tall);
      at += tall;
    }
  }
}

function placesOf(title, side, row) {
  const code = sides[side], number = rows.of[side][row];
  if (number < 0)
    return [];
  return [...code.piecesOf(number)].map((piece) => make("li", {},
    `${title}: ${kindNames[code.pieces.kind[piece]]}, ${hexText(code.addressOf(piece))}, ${numberText(code.pieces.size[piece])} bytes` +
    (code.description.hasProfile ? `, ${numberText(code.pieces.samples[piece])} samples` : "")));
}

function describe(row) {
  return [make("h3", {}, make("a", {href: "#f=" + keyOf(row)}, nameElement(nameOf(row)))), make("p", {}, changeText(row)),
          make("ul", {}, placesOf("old", 0, row), placesOf("new", 1, row))];
}

export class BothMap extends CodeMap {
  constructor(section) {
    const before = makeLane("old", old, (piece) => rows.ofOld[old.pieces.function[piece]], rows.count);
    const after = makeLane("new", now, (piece) => now.pieces.function[piece], rows.count);
    for (const lane of [before, after])
      lane.classes = Uint8Array.from({length: lane.items.count}, (unused, item) => classOf(lane.items.functionOf(item)));
    const weight = Float64Array.from({length: rows.count}, (unused, row) => sizeOf(0, row) + sizeOf(1, row));
    const order = Array.from(rows.flags.keys()).filter((row) => rows.flags[row] & COMPARED)
      .sort((a, b) => rows.executed[b] - rows.executed[a] || weight[b] - weight[a]);
    const best = order.length ? rows.executed[order[0]] : 0;
    const sideOf = (lane) => (lane === after ? 1 : 0);
    const view = {mode: "changes"};
    const select = make("select", {id: "map-mode", change: () => this.change(() => (view.mode = select.value))},
      make("option", {value: "changes"}, "what changed"), make("option", {value: "heat"}, "heat"));
    super(section, {
      after, before, order, nameOf, keyOf, describe, nameFilter, count: rows.count, names: ["old", "new"], legend: classNames,
      tools: hasProfile ? [make("label", {for: "map-mode"}, "Show"), select] : [],
      mainItem: (lane, row) => itemsOf(sideOf(lane), row)[0],
      pairs: pairsOf, numberAt: rowAt,
      joinStyle: (row) => {
        if (view.mode === "changes")
          return {color: styleColor(classNames[classOf(row)][0]), alpha: 0.45};
        const heat = heatOf(rows.executed[row], best);
        return {color: heatColor(heat), alpha: 0.15 + 0.5 * heat * heat};
      },
      addressOf: (lane, item, offset) => sides[sideOf(lane)].addressOf(item, offset),
      placeName: (lane, item) => `${changeText(lane.items.functionOf(item))}; ${lane.title}, ` +
        kindNames[sides[sideOf(lane)].pieces.kind[item]],
      samplesOf: (lane, item) => sides[sideOf(lane)].pieces.samples[item],
      drawHeat: (context, lane, place, width) => {
        if (view.mode === "changes")
          drawClasses(context, lane, place, width);
        return view.mode === "changes";
      },
      state: () => ({m: view.mode === "changes" ? undefined : view.mode}),
      open: ({m}) => {
        view.mode = m === "heat" && hasProfile ? "heat" : "changes";
        select.value = view.mode;
      },
      remark: "The bars say how much of a pixel's code changed in which way" +
        (hasProfile ? "; heat is how often the bytes of a pixel ran, on a logarithmic scale." : "."),
    });
  }
}
