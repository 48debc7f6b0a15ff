// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data of the page about two binaries: spec/report.md. A row is a function of the new binary, or one that
// only the old one has; rows of the new binary's functions have their numbers.
import { Code, HOT } from "./code.js";
import { hexText } from "./format.js";
import { columnsOf, description } from "./packed.js";

export const old = new Code(description.old, "old-");
export const now = new Code(description.new, "new-");
export const sides = [old, now];
export const hasProfile = description.old.hasProfile || description.new.hasProfile;

// What a row's flags say: the changes of a function that both notes have, and which note has it.
export const INPUT = 1, SPLIT = 2, RESIZED = 4, LAYOUT = 8, MOVED = 16, COMPARED = 32, APPEARED = 64, WENT = 128;
export const CHANGED = INPUT | SPLIT | RESIZED | LAYOUT | MOVED;

// The functions of both sides in each row, -1 for none; the row of each old function.
export const rows = {};

export async function load() {
  const [pairs, [went]] = await Promise.all([columnsOf("pairs"), columnsOf("went"), old.load(), now.load()]);
  const n = description.new.functions, rowOf = new Int32Array(description.old.functions).fill(-1);
  const oldOf = new Int32Array(n).fill(-1), flags = new Uint8Array(n + description.old.functions);
  let before = 0;
  for (let i = 0; i < n; i++) {
    const change = pairs[0].change(), number = before + change;
    flags[i] = pairs[1].number();
    oldOf[i] = number - 1;
    if (number > 0) {
      before = number;
      rowOf[number - 1] = i;
    }
  }
  let count = n;
  for (let i = 0; i < description.old.functions; i++) {
    if (rowOf[i] < 0)
      rowOf[i] = count++;
    if (went.number())
      flags[rowOf[i]] |= WENT;
  }
  rows.count = count;
  rows.flags = flags.subarray(0, count);
  rows.of = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)];
  rows.of[0].set(oldOf);
  rowOf.forEach((row, i) => (rows.of[0][row] = i));
  for (let i = 0; i < n; i++)
    rows.of[1][i] = i;
  rows.ofOld = rowOf;
  const sum = (array) => Float64Array.from({length: count}, (unused, row) =>
    (rows.of[0][row] < 0 ? 0 : old.functions[array][rows.of[0][row]]) + (rows.of[1][row] < 0 ? 0 : now.functions[array][rows.of[1][row]]));
  rows.executed = sum("executed");
}

export function nameOf(row) {
  return rows.of[1][row] >= 0 ? now.nameOf(rows.of[1][row]) : old.nameOf(rows.of[0][row]);
}

export function nameFilter(text) {
  const filters = sides.map((code) => code.nameFilter(text));
  return (row) => filters.some((fits, side) => rows.of[side][row] >= 0 && fits(rows.of[side][row]));
}

// The row in addresses: the function's new place, or its old one.
export function keyOf(row) {
  const [number, newNumber] = [rows.of[0][row], rows.of[1][row]];
  return newNumber >= 0 ? hexText(now.addressOf(now.functions.main[newNumber]))
                        : "old-" + hexText(old.addressOf(old.functions.main[number]));
}

// The row of a text that keyOf() made, or -1.
export function rowAt(text) {
  const isOld = text?.startsWith("old-"), code = isOld ? old : now;
  const piece = code.pieceAt(isOld ? text.slice(4) : text);
  if (piece < 0)
    return -1;
  return isOld ? rows.ofOld[code.pieces.function[piece]] : code.pieces.function[piece];
}

// A value of a row's function on one side; 0 if that side has none.
export function valueOf(side, array, row) {
  const number = rows.of[side][row];
  return number < 0 ? 0 : sides[side].functions[array][number];
}

export function sizeOf(side, row) {
  return valueOf(side, "bytes", row) + valueOf(side, "coldBytes", row);
}

export function addressOf(side, row) {
  const number = rows.of[side][row];
  return number < 0 ? -1n : sides[side].addressOf(sides[side].functions.main[number]);
}

// The class of a row, for colors: what is the most that changed.
export const SINGLE = 0, EDITED = 1, RELAID = 2, REPLACED = 3, SAME = 4, OTHER = 5;
export const classNames = [
  ["single", "appeared or went"], ["edited", "changed in the input"], ["relaid", "split, resized or laid out otherwise"],
  ["moved", "moved only"], ["same", "as it was"]];

export function classOf(row) {
  const flags = rows.flags[row];
  if (flags & (APPEARED | WENT))
    return SINGLE;
  if (!(flags & COMPARED))
    return OTHER;
  return flags & INPUT ? EDITED : flags & (SPLIT | RESIZED | LAYOUT) ? RELAID : flags & MOVED ? REPLACED : SAME;
}

// True if BOLT wrote the row's function anew on this side.
function isRewritten(side, row) {
  const {functions, pieces} = sides[side], number = rows.of[side][row];
  return number >= 0 && pieces.kind[functions.main[number]] === HOT;
}

const changeNames = [[INPUT, "input"], [SPLIT, "split"], [RESIZED, "size"], [LAYOUT, "layout"], [MOVED, "moved"]];

// What changed, in words.
export function changeText(row) {
  const flags = rows.flags[row];
  if (flags & APPEARED)
    return rows.of[0][row] >= 0 ? "appeared: was left in place" : "appeared";
  if (flags & WENT)
    return rows.of[1][row] >= 0 ? "went: is left in place" : "went";
  if (flags & COMPARED)
    return changeNames.filter(([bit]) => flags & bit).map(([, name]) => name).join(", ") || "as it was";
  if (rows.of[0][row] < 0 || rows.of[1][row] < 0)
    return rows.of[0][row] < 0 ? "only in new" : "only in old";
  return isRewritten(0, row) || isRewritten(1, row) ? "not compared" : "not rewritten";
}
