// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The instructions of the hottest functions: spec/report.md.
import { Texts, columnsOf, description, unpack } from "./packed.js";

// One layout of the code: the input's, by functions, or the output's, by pieces.
class Listing {
  constructor(columns, branches, count, texts) {
    this.texts = texts;
    this.runs = new Map(); // [first, end]
    for (let owner = 0, first = 0; columns[0].at < columns[0].end;) {
      const end = first + columns[1].number();
      owner += columns[0].change();
      this.runs.set(owner, [first, end]);
      first = end;
    }
    const array = () => new Float64Array(count);
    Object.assign(this, {size: array(), text: array(), count: array(), target: array(), file: array(), line: array()});
    let ran = 0, file = 0, line = 0;
    for (let i = 0; i < count; i++) {
      this.size[i] = columns[2].number();
      this.text[i] = columns[3].number();
      this.count[i] = ran += columns[4].change();
      this.target[i] = columns[5].number();
      this.file[i] = (file += columns[6].change()) - 1;
      this.line[i] = line += columns[7].change();
    }
    this.branches = new Map();
    for (let number = 0; branches[0].at < branches[0].end;) {
      number += branches[0].number();
      const passed = branches[1].number();
      const ways = Array.from({length: branches[2].number()}, () =>
        ({to: number + branches[3].change(), count: branches[4].number(), mispredicted: branches[5].number()}));
      this.branches.set(number, {passed, ways});
    }
  }

  has(owner) {
    return this.runs.has(owner);
  }

  // The rows of a function or piece. to: the number of another row, or callee: that of a function, or neither.
  rowsOf(owner) {
    const [first, end] = this.runs.get(owner) ?? [0, 0], rows = [];
    for (let number = first, from = 0; number < end; number++) {
      const target = this.target[number], half = (target - 2) / 2;
      const way = target % 2 ? {callee: (target - 1) / 2} : target ? {to: number + (half % 2 ? -(half + 1) / 2 : half / 2)} : {};
      rows.push({number, from, count: this.count[number], text: this.texts.get(this.text[number]), ...way,
                 file: this.file[number], line: this.line[number], ...this.branches.get(number)});
      from += this.size[number];
    }
    return rows;
  }
}

let instructionsLoaded;

// {before, after}; null if the page has no instructions.
export function loadInstructions() {
  const counts = description.instructions;
  if (!counts[1])
    return null;
  instructionsLoaded ??= Promise.all([unpack("instructions"), ...["before", "before-branches", "after", "after-branches"].map(columnsOf)])
    .then(([bytes, ...columns]) => {
      const texts = new Texts(bytes, counts[2]);
      return {before: new Listing(columns[0], columns[1], counts[0], texts), after: new Listing(columns[2], columns[3], counts[1], texts)};
    });
  return instructionsLoaded;
}
