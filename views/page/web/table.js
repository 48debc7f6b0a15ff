// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of all functions.
import { COLD, LEFT, PLT } from "./code.js";
import { addressOf, functions, inputAddressOf, nameFilter, nameOf, orderOfNames, pieces } from "./data.js";
import { hexText, numberText, shareText } from "./format.js";
import { Grid } from "./grid.js";
import { description } from "./packed.js";
import { refusalsOf } from "./refused.js";

const byMain = (array) => (a, b) => array[functions.main[a]] - array[functions.main[b]];
const by = (array) => (a, b) => array[a] - array[b];
const partCount = (i) => functions.firstPiece[i + 1] - functions.firstPiece[i];

// Columns: how a function is shown, and the order in which the column sorts.
const columns = [
  {id: "name", label: "Function", text: nameOf, order: () => orderOfNames()},
  {id: "samples", label: "Samples", down: true, text: (i) => numberText(functions.samples[i]),
   order: () => by(functions.samples)},
  {id: "share", label: "Share", down: true, order: () => by(functions.samples),
   text: (i) => shareText(functions.samples[i], description.samples)},
  {id: "bytes", label: "Bytes", down: true, text: (i) => numberText(functions.bytes[i]),
   order: () => by(functions.bytes)},
  {id: "cold", label: "Cold bytes", down: true, text: (i) => numberText(functions.coldBytes[i]),
   order: () => by(functions.coldBytes)},
  {id: "parts", label: "Parts", down: true, text: (i) => numberText(partCount(i)),
   order: () => (a, b) => partCount(a) - partCount(b)},
  {id: "blocks", label: "Blocks", down: true, text: (i) => numberText(functions.blockCount[i]),
   order: () => by(functions.blockCount)},
  {id: "input", label: "Address before", order: () => by(functions.inputStart),
   text: (i) => (functions.inputSection[i] < 0 ? "" : hexText(inputAddressOf(i)))},
  {id: "address", label: "Address after", text: (i) => hexText(addressOf(functions.main[i])),
   order: () => byMain(pieces.start)},
];

// The counts that llvm-bolt will refuse: in fdata if it refuses that.
const refusedCounts = (i) => refusalsOf(i)[0]?.counts ?? -1;

function refusedText(i) {
  const [first, second] = refusalsOf(i);
  return first ? numberText(first.counts) + (second ? "" : ` in ${first.form}`) : "";
}

if (description.refused)
  columns.push({id: "refused", label: "Refused", down: true, text: refusedText,
                order: () => (a, b) => refusedCounts(a) - refusedCounts(b)});

const filters = [
  {id: "all", label: "all functions", fits: () => true},
  {id: "samples", label: "with samples", fits: (i) => functions.samples[i] > 0},
  {id: "split", label: "split", fits: (i) => partCount(i) > 1},
  {id: "cold", label: "with samples in cold fragments", fits: hasColdSamples},
  {id: "reordered", label: "with blocks in a new order", fits: (i) => functions.isReordered[i]},
  {id: "refused", label: "refused by llvm-bolt", fits: (i) => refusalsOf(i).length > 0},
  {id: "left", label: "left in place", fits: (i) => pieces.kind[functions.main[i]] === LEFT},
  {id: "plt", label: "PLT entries", fits: (i) => pieces.kind[functions.main[i]] === PLT},
];

function hasColdSamples(number) {
  for (let i = functions.firstPiece[number]; i < functions.firstPiece[number + 1]; i++)
    if (pieces.kind[functions.pieces[i]] === COLD && pieces.samples[functions.pieces[i]] > 0)
      return true;
  return false;
}

export class FunctionTable extends Grid {
  constructor(section) {
    const first = description.hasProfile ? "samples" : undefined;
    super(section, {columns, filters, count: description.functions, nameFilter,
                    start: {filter: first ?? "all", sort: first ?? "name"},
                    href: (i) => "#f=" + hexText(addressOf(functions.main[i]))});
    this.view.classList.toggle("has-refused", description.refused > 0);
  }
}
