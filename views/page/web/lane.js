// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lane of the map: all code of a binary, a line of bytes. Positions count bytes from the lane's start;
// sections follow each other without the gaps between them.
import { blockEnd } from "./code.js";

export class Lane {
  // title says what the lane is; blocks(item, ready) are an item's blocks: [start, end, runs], ascending, or null
  // as long as they are not at hand; count is the number of functions. section, start and size are of each item, in the order of their addresses; items never overlap.
  constructor(title, sections, items, count, blocks) {
    this.title = title;
    this.blocks = blocks;
    this.sections = [];
    this.items = items;
    this.size = 0;
    const bases = sections.map((section) => {
      if (section.isOld && !items.usesSection(section))
        return -1;
      const base = this.size;
      this.sections.push({name: section.name, address: section.address, base, size: section.size});
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
    this.group(count);
    // What is not drawn, for people.
    this.leftOut = sections.filter((section, i) => bases[i] < 0);
    this.from = 0;
    this.to = this.size;
  }

  // List the items of each function.
  group(count) {
    this.starts = new Uint32Array(count + 1);
    for (let i = 0; i < this.items.count; i++)
      this.starts[this.items.functionOf(i) + 1]++;
    for (let i = 0; i < count; i++)
      this.starts[i + 1] += this.starts[i];
    const next = this.starts.slice();
    this.list = new Uint32Array(this.items.count);
    for (let i = 0; i < this.items.count; i++)
      this.list[next[this.items.functionOf(i)]++] = i;
  }

  // The items of a function, ascending.
  itemsOf(number) {
    return this.list.subarray(this.starts[number], this.starts[number + 1]);
  }

  // True if an item of the function is in sight.
  shows(number) {
    for (let i = this.starts[number]; i < this.starts[number + 1]; i++) {
      const item = this.list[i];
      if (this.at[item] < this.to && this.at[item] + this.sizes[item] > this.from)
        return true;
    }
    return false;
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

// The blocks with code of a piece, for a lane.
export function laneBlocks(code, piece, ready) {
  const blocks = code.blocksNow(piece, ready);
  if (!blocks)
    return null;
  const all = [];
  for (let i = 0; i < blocks.length; i++) {
    const end = blockEnd(blocks, i, code.pieces.size[piece]);
    if (blocks.output[i] < end)
      all.push([blocks.output[i], end, blocks.count[i]]);
  }
  return all;
}

// The lane of a binary after BOLT; functionOf(piece) is the number that the map knows its function by, of
// count functions.
export function makeLane(title, code, functionOf, count) {
  const {description, pieces} = code, used = new Set(pieces.section);
  return new Lane(title, description.output, {
    count: description.pieces,
    usesSection: (section) => used.has(description.output.indexOf(section)),
    section: (i) => pieces.section[i],
    start: (i) => pieces.start[i],
    size: (i) => pieces.size[i],
    functionOf,
    executed: (i) => pieces.executed[i],
    kind: (i) => pieces.kind[i],
  }, count, (item, ready) => laneBlocks(code, item, ready));
}
