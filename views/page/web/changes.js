// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of what changed, function by function.
import { hexText, numberText } from "./format.js";
import { Grid } from "./grid.js";
import { APPEARED, CHANGED, COMPARED, INPUT, LAYOUT, MOVED, RESIZED, SPLIT, WENT, addressOf, changeText, classOf, hasProfile, keyOf, nameFilter, nameOf, rows, sides, sizeOf, valueOf } from "./pairs.js";

export function changeOf(from, to) {
  return from === to ? "" : (to > from ? "+" : "−") + numberText(Math.abs(to - from));
}

const hasSide = (side) => (row) => rows.of[side][row] >= 0;
const grown = (row) => Math.abs(sizeOf(1, row) - sizeOf(0, row));

// A column of the numbers of both sides; knows[side] is false if that side has none of them.
function bothColumn(id, label, array, knows) {
  const text = (row, side) => (knows[side] && hasSide(side)(row) ? numberText(array(side, row)) : "–");
  const most = (row) => Math.max(array(0, row), array(1, row));
  return {id, label, down: true, text: (row) => `${text(row, 0)} → ${text(row, 1)}`, order: () => (a, b) => most(a) - most(b)};
}

const placeOf = (row) => addressOf(hasSide(1)(row) ? 1 : 0, row);

function orderOfNames() {
  const keys = Array.from({length: rows.count}, (unused, row) => nameOf(row));
  return (a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0);
}

const columns = [
  {id: "name", label: "Function", text: nameOf, order: orderOfNames},
  {id: "what", label: "What changed", text: changeText,
   order: () => (a, b) => classOf(a) - classOf(b) || rows.flags[a] - rows.flags[b]},
  {id: "grown", label: "Bytes ±", down: true, text: (row) => changeOf(sizeOf(0, row), sizeOf(1, row)),
   order: () => (a, b) => grown(a) - grown(b)},
  hasProfile ? bothColumn("samples", "Samples", (side, row) => valueOf(side, "samples", row), sides.map((code) => code.description.hasProfile))
             : bothColumn("sizes", "Bytes", sizeOf, [true, true]),
  {id: "address", label: "Address", text: (row) => hexText(placeOf(row)),
   order: () => (a, b) => (placeOf(a) < placeOf(b) ? -1 : placeOf(a) > placeOf(b) ? 1 : 0)},
];

const has = (bits) => (row) => (rows.flags[row] & bits) !== 0;
const filters = [
  {id: "differ", label: "that differ", fits: has(CHANGED | APPEARED | WENT)},
  {id: "appeared", label: "appeared", fits: has(APPEARED)},
  {id: "went", label: "went", fits: has(WENT)},
  {id: "input", label: "changed in the input", fits: has(INPUT)},
  {id: "split", label: "split otherwise", fits: has(SPLIT)},
  {id: "resized", label: "larger or smaller", fits: has(RESIZED)},
  {id: "layout", label: "laid out otherwise", fits: has(LAYOUT)},
  {id: "moved", label: "moved", fits: has(MOVED)},
  {id: "equal", label: "as they were", fits: (row) => (rows.flags[row] & (COMPARED | CHANGED)) === COMPARED},
  {id: "other", label: "in neither note", fits: (row) => (rows.flags[row] & (COMPARED | APPEARED | WENT)) === 0},
  {id: "all", label: "all functions", fits: () => true},
];

export class ChangeTable extends Grid {
  constructor(section) {
    super(section, {columns, filters, count: rows.count, nameFilter, href: (row) => "#f=" + keyOf(row),
                    start: {filter: "differ", sort: "grown"}, style: "compared"});
  }
}
