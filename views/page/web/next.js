// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that changed: its blocks in the input, and in the next build with what was carried to them.
import { blocksOfBoth, piecesInOrder } from "./blocks.js";
import { addressOf, code, functions, nameOf } from "./data.js";
import { fact, make, nameElement } from "./dom.js";
import { hexText, numberText } from "./format.js";
import { Texts, columnsOf, description, unpack } from "./packed.js";
import { SidesPage, placeText } from "./sides.js";

let changedLoaded;

// [{number, name, newName, count, likeness, blocks}]; number: of the function on this page, or -1. Empty without a next build.
export function loadChanged() {
  if (!description.changed)
    return [];
  changedLoaded ??= Promise.all([columnsOf("changed"), columnsOf("carried"), unpack("changed-names"), unpack("carried-names")])
    .then(([changed, carried, names, others]) => {
      const own = new Texts(names, 2 * description.changed), parts = new Texts(others, description.carriedNames);
      const readBlock = () => {
        const part = parts.get(carried[0].number()), from = carried[1].number(), old = carried[2].number();
        const oldFrom = carried[3].number(), sure = carried[4].number();
        return {part, from, oldPart: old ? parts.get(old - 1) : null, oldFrom, isPiece: Boolean(sure % 2), confidence: Math.floor(sure / 2) / 10,
                content: carried[5].number() / 10, oldCount: carried[6].number(), count: carried[7].number()};
      };
      return Array.from({length: description.changed}, (unused, i) => ({
        number: changed[0].number() - 1, count: changed[1].number(), likeness: changed[2].number() / 10,
        blocks: Array.from({length: changed[3].number()}, readBlock), name: own.get(2 * i), newName: own.get(2 * i + 1)}));
    });
  return changedLoaded;
}

export class NextPage extends SidesPage {
  numberAt(text) {
    const number = Number(text);
    return Number.isInteger(number) && number >= 0 && number < description.changed ? number : -1;
  }

  nameOf() {
    return this.changed.number < 0 ? this.changed.name : nameOf(this.changed.number);
  }

  async load(row) {
    const changed = (await loadChanged())[row];
    return [changed, changed.number < 0 ? [] : await piecesInOrder(code, changed.number)];
  }

  // Old blocks that the note does not have are those that the match names.
  fill(row, [changed, order]) {
    this.changed = changed;
    const olds = new Map(blocksOfBoth(code, changed.number, order).inputs.map((block) => [block.from, block]));
    for (const {oldPart, oldFrom, oldCount} of changed.blocks)
      if (oldPart === changed.name && !olds.has(oldFrom))
        olds.set(oldFrom, {from: oldFrom, count: oldCount});
    const old = [...olds.values()].sort((a, b) => a.from - b.from), oldAt = new Map(old.map(({from}, i) => [from, i]));
    this.lists = [old, changed.blocks];
    const links = changed.blocks.flatMap(({oldPart, oldFrom}, i) => (oldPart === changed.name ? [[oldAt.get(oldFrom), i]] : []));
    return [make("dl", {class: "origin"},
        fact("Name in the next build", nameElement(changed.newName || "none: it is gone")), fact("Code alike by", `${changed.likeness.toFixed(0)}%`), fact("Had", `${numberText(changed.count)} counts of the profile`),
        changed.number < 0 ? [] : fact("Its page", make("a", {href: "#f=" + hexText(addressOf(functions.main[changed.number]))}, "this function before and after BOLT"))),
      make("h3", {}, "Blocks"), ...this.makeSides({
        titles: ["Input of BOLT", "Next build"], lists: this.lists, links, absent: "no blocks known",
        remark: "The number is how often the block ran, and what it gets. Behind the arrow is the block that it was; a count without one was inferred. "})];
  }

  cellsOf(side, row) {
    if (!side)
      return {label: [placeText(row.from), ""], size: row.end === undefined ? "" : `${row.end - row.from} B`};
    const {changed} = this, isOther = row.oldPart !== changed.name;
    const was = row.oldPart === null ? "" : (isOther ? row.oldPart : "") + placeText(row.oldFrom);
    return {label: [(row.part === changed.newName ? "" : row.part) + placeText(row.from), was],
            size: was === "" ? "inferred" : row.isPiece ? "a piece of it" : `${row.confidence.toFixed(0)}% sure, code alike by ${row.content.toFixed(0)}%`};
  }
}
