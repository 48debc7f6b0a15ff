// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two lanes of the map: all code before BOLT, all code after it, each a line of bytes. Positions
// count bytes from the lane's start; sections follow each other without the gaps between them.
import { description, functions, pieces } from "./data.js";

class Lane {
  // section, start and size are of each item, in the order of their addresses; items never overlap.
  constructor(sections, items) {
    this.sections = [];
    this.items = items;
    this.size = 0;
    const bases = sections.map((section) => {
      if (section.isOld && !items.usesSection(section))
        return -1;
      const base = this.size;
      this.sections.push({name: section.name, base, size: section.size});
      this.size += section.size;
      return base;
    });
    // For loops over all items, which run in each frame.
    this.at = new Float64Array(items.count);
    this.sizes = new Float64Array(items.count);
    this.executed = new Float64Array(items.count);
    this.kinds = new Uint8Array(items.count);
    for (let i = 0; i < items.count; i++) {
      this.at[i] = bases[items.section(i)] + items.start(i);
      this.sizes[i] = items.size(i);
      this.executed[i] = items.executed(i);
      this.kinds[i] = items.kind(i);
    }
    this.from = 0;
    this.to = this.size;
  }

  // The first item that ends behind a position.
  first(position) {
    let low = 0, high = this.items.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at[middle] + this.sizes[middle] <= position)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // The item at a position, or -1.
  find(position) {
    const i = this.first(position);
    return i < this.items.count && this.at[i] <= position ? i : -1;
  }

  show(from, to) {
    const size = Math.min(Math.max(to - from, 16), this.size);
    this.from = Math.min(Math.max(0, from), this.size - size);
    this.to = this.from + size;
  }

  zoom(factor, position) {
    this.show(position - (position - this.from) * factor, position + (this.to - position) * factor);
  }

  pan(bytes) {
    this.show(this.from + bytes, this.to + bytes);
  }

  // Show an item in the middle of four times its size.
  center(item) {
    const size = this.items.size(item);
    this.show(this.at[item] - size * 1.5, this.at[item] + size * 2.5);
  }
}

export function makeAfter() {
  const used = new Set(pieces.section);
  return new Lane(description.output, {
    count: description.pieces,
    usesSection: (section) => used.has(description.output.indexOf(section)),
    section: (i) => pieces.section[i],
    start: (i) => pieces.start[i],
    size: (i) => pieces.size[i],
    functionOf: (i) => pieces.function[i],
    executed: (i) => pieces.executed[i],
    kind: (i) => pieces.kind[i],
  });
}

export function makeBefore() {
  const numbers = [];
  for (let i = 0; i < description.functions; i++)
    if (functions.inputSection[i] >= 0)
      numbers.push(i);
  numbers.sort((a, b) => functions.inputSection[a] - functions.inputSection[b] ||
                         functions.inputStart[a] - functions.inputStart[b]);
  // Of folded functions, one: their code is the same.
  const kept = numbers.filter((number, i) => i === 0 || functions.inputSection[number] !== functions.inputSection[numbers[i - 1]] ||
                                             functions.inputStart[number] !== functions.inputStart[numbers[i - 1]]);
  const lane = new Lane(description.input, {
    count: kept.length,
    usesSection: () => true,
    section: (i) => functions.inputSection[kept[i]],
    start: (i) => functions.inputStart[kept[i]],
    size: (i) => functions.inputSize[kept[i]],
    functionOf: (i) => kept[i],
    executed: (i) => functions.executed[kept[i]],
    kind: (i) => pieces.kind[functions.main[kept[i]]],
  });
  lane.itemOf = new Int32Array(description.functions).fill(-1);
  kept.forEach((number, i) => (lane.itemOf[number] = i));
  return lane;
}
