// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of what changed, function by function.
import { hexText, numberText } from "./format.js";
import { Grid } from "./grid.js";
import { APPEARED, CHANGED, COMPARED, INPUT, LAYOUT, MOVED, RESIZED, SPLIT, WENT, addressOf, changeText, classOf, keyOf, nameFilter, nameOf, now, old, rows, sizeOf, valueOf } from "./pairs.js";

export function changeOf(from, to) {
  return from === to ? "" : (to > from ? "+" : "−") + numberText(Math.abs(to - from));
}

const hasSide = (side) => (row) => rows.of[side][row] >= 0;
const grown = (row) => Math.abs(sizeOf(1, row) - sizeOf(0, row));

// A column of numbers of one side.
function sideColumn(id, label, side, valueIn) {
  return {id, label, down: true, text: (row) => (hasSide(side)(row) ? numberText(valueIn(row)) : ""),
          order: () => (a, b) => valueIn(a) - valueIn(b)};
}

function addressColumn(id, label, side) {
  return {id, label, text: (row) => (hasSide(side)(row) ? hexText(addressOf(side, row)) : ""),
          order: () => (a, b) => {
            const left = addressOf(side, a), right = addressOf(side, b);
            return left < right ? -1 : left > right ? 1 : 0;
          }};
}

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
  ...(old.description.hasProfile ? [sideColumn("samples-old", "Samples old", 0, (row) => valueOf(0, "samples", row))] : []),
  ...(now.description.hasProfile ? [sideColumn("samples-new", "Samples new", 1, (row) => valueOf(1, "samples", row))] : []),
  sideColumn("bytes-old", "Bytes old", 0, (row) => sizeOf(0, row)),
  sideColumn("bytes-new", "Bytes new", 1, (row) => sizeOf(1, row)),
  sideColumn("cold-old", "Cold old", 0, (row) => valueOf(0, "coldBytes", row)),
  sideColumn("cold-new", "Cold new", 1, (row) => valueOf(1, "coldBytes", row)),
  addressColumn("address-old", "Address old", 0), addressColumn("address-new", "Address new", 1),
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
                    start: {filter: "differ", sort: "grown"}, style: `compared columns-${columns.length}`});
  }
}
