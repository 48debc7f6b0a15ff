// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of one binary after BOLT: its pieces, functions and blocks, from parts whose names begin with a
// prefix.
import { Texts, columnsOf, unpack } from "./packed.js";

export const HOT = 0, COLD = 1, LEFT = 2, PLT = 3;
export const kindNames = ["hot part", "cold fragment", "left in place", "PLT entry"];

// Chunks of blocks that are kept, of those that were unpacked.
const CHUNKS_KEPT = 24;

const encoder = new TextEncoder();

// The regular expression of a search "/.../", without regard to capitals; null if it is none, undefined if the text is
// something else.
export function patternOf(text) {
  const [, source] = /^\/(.+)\/$/.exec(text.trim()) ?? [];
  if (source === undefined)
    return undefined;
  try {
    return new RegExp(source, "i");
  } catch {
    return null;
  }
}

function bigAddress(section, start) {
  return BigInt(section.address) + BigInt(start);
}

function blocksIn(chunk, piece) {
  const from = chunk.starts[piece - chunk.first], to = chunk.starts[piece - chunk.first + 1];
  const part = (array) => array.subarray(from, to);
  return {output: part(chunk.output), input: part(chunk.input), count: part(chunk.count),
          file: part(chunk.file), line: part(chunk.line), length: to - from};
}

export function blockEnd(blocks, i, size) {
  return Math.min(size, i + 1 < blocks.length ? blocks.output[i + 1] : size);
}

export class Code {
  constructor(description, prefix) {
    this.description = description;
    this.prefix = prefix;
    this.pieces = {};
    this.functions = {};
    this.chunks = new Map(); // the last used one last
  }

  async load() {
    const [nameBytes, plainBytes] =
      await Promise.all([unpack(this.prefix + "names"), unpack(this.prefix + "plain"), this.loadPieces(), this.loadFunctions()]);
    this.names = new Texts(nameBytes, this.description.functions);
    this.plainNames = new Texts(plainBytes, this.description.functions);
    this.joinPieces();
  }

  async loadPieces() {
    const n = this.description.pieces, columns = await columnsOf(this.prefix + "pieces");
    Object.assign(this.pieces, {
      section: new Uint32Array(n), start: new Float64Array(n), size: new Float64Array(n),
      kind: new Uint8Array(n), function: new Uint32Array(n), samples: new Float64Array(n),
      executed: new Float64Array(n), blockCount: new Uint32Array(n)});
    let section = 0, end = 0, number = 0;
    for (let i = 0; i < n; i++) {
      const step = columns[0].number();
      if (step)
        end = 0;
      section += step;
      this.pieces.section[i] = section;
      this.pieces.start[i] = end + columns[1].number();
      this.pieces.size[i] = columns[2].number();
      this.pieces.kind[i] = columns[3].number();
      number += columns[4].change();
      this.pieces.function[i] = number;
      this.pieces.samples[i] = columns[5].number();
      this.pieces.executed[i] = columns[6].number();
      this.pieces.blockCount[i] = columns[7].number();
      end = this.pieces.start[i] + this.pieces.size[i];
    }
  }

  async loadFunctions() {
    const n = this.description.functions, columns = await columnsOf(this.prefix + "functions");
    Object.assign(this.functions, {
      main: new Uint32Array(n), inputSection: new Int32Array(n), inputStart: new Float64Array(n),
      inputSize: new Float64Array(n), isReordered: new Uint8Array(n), samples: new Float64Array(n),
      executed: new Float64Array(n), bytes: new Float64Array(n), coldBytes: new Float64Array(n),
      blockCount: new Uint32Array(n), firstPiece: new Uint32Array(n + 1)});
    let main = 0, end = 0;
    for (let i = 0; i < n; i++) {
      main += columns[0].change();
      this.functions.main[i] = main;
      this.functions.inputSection[i] = columns[1].number() - 1;
      this.functions.inputStart[i] = end + columns[2].change();
      this.functions.inputSize[i] = columns[3].number();
      this.functions.isReordered[i] = columns[4].number();
      end = this.functions.inputStart[i] + this.functions.inputSize[i];
    }
  }

  // Add up the pieces of each function, and list them.
  joinPieces() {
    const n = this.description.functions;
    for (let i = 0; i < this.description.pieces; i++) {
      const number = this.pieces.function[i];
      this.functions.firstPiece[number + 1]++;
      this.functions.samples[number] += this.pieces.samples[i];
      this.functions.executed[number] += this.pieces.executed[i];
      this.functions.blockCount[number] += this.pieces.blockCount[i];
      (this.pieces.kind[i] === COLD ? this.functions.coldBytes : this.functions.bytes)[number] += this.pieces.size[i];
    }
    for (let i = 0; i < n; i++)
      this.functions.firstPiece[i + 1] += this.functions.firstPiece[i];
    const next = this.functions.firstPiece.slice();
    this.functions.pieces = new Uint32Array(this.description.pieces);
    for (let i = 0; i < this.description.pieces; i++)
      this.functions.pieces[next[this.pieces.function[i]]++] = i;
  }

  piecesOf(number) {
    return this.functions.pieces.subarray(this.functions.firstPiece[number], this.functions.firstPiece[number + 1]);
  }

  addressOf(piece, offset = 0) {
    return bigAddress(this.description.output[this.pieces.section[piece]], this.pieces.start[piece] + offset);
  }

  inputAddressOf(number, offset = 0) {
    return bigAddress(this.description.input[this.functions.inputSection[number]],
                      this.functions.inputStart[number] + offset);
  }

  // As in profiles; empty if there is none.
  profileName(number) {
    return this.names.get(number);
  }

  nameOf(number) {
    if (!this.plainNames.isEmpty(number))
      return this.plainNames.get(number);
    return this.names.isEmpty(number) ? "function at 0x" + this.addressOf(this.functions.main[number]).toString(16)
                                 : this.names.get(number);
  }

  // Tells the functions that a search finds: by /pattern/, by an address, by words that are all in their names.
  nameFilter(text) {
    const pattern = patternOf(text);
    if (pattern !== undefined)
      return (number) => pattern !== null && (pattern.test(this.nameOf(number)) || pattern.test(this.profileName(number)));
    const words = text.trim().split(/\s+/).map((word) => encoder.encode(word.toLowerCase()));
    const found = this.functionsAt(text.trim());
    return (number) => found.has(number) ||
      words.every((word) => this.names.contains(number, word) || this.plainNames.contains(number, word));
  }

  // The functions that have an address "0x...", in the output or in the input.
  functionsAt(text) {
    const found = new Set();
    if (!/^0x[0-9a-f]+$/i.test(text))
      return found;
    const address = BigInt(text), piece = this.pieceAt(text);
    if (piece >= 0)
      found.add(this.pieces.function[piece]);
    for (let i = 0; i < this.description.functions; i++) {
      if (this.functions.inputSection[i] < 0)
        continue;
      const offset = address - this.inputAddressOf(i);
      if (offset >= 0n && offset < BigInt(this.functions.inputSize[i]))
        found.add(i);
    }
    return found;
  }

  orderOfNames() {
    const keys = Array.from({length: this.description.functions}, (unused, i) => this.nameOf(i));
    return (a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0);
  }

  // The piece at a hexadecimal address of the output, or -1.
  pieceAt(text) {
    let address;
    try {
      address = BigInt(text);
    } catch {
      return -1;
    }
    let low = 0, high = this.description.pieces;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.addressOf(middle) <= address)
        low = middle + 1;
      else
        high = middle;
    }
    const piece = low - 1;
    return piece >= 0 && address < this.addressOf(piece) + BigInt(this.pieces.size[piece]) ? piece : -1;
  }

  // --- Blocks ----------------------------------------------------------------------------------

  async readChunk(number) {
    const columns = await columnsOf(this.prefix + "blocks-" + number);
    const first = this.description.chunks[number];
    const end = this.description.chunks[number + 1] ?? this.description.pieces;
    const starts = new Uint32Array(end - first + 1);
    for (let i = first; i < end; i++)
      starts[i - first + 1] = starts[i - first] + this.pieces.blockCount[i];
    const n = starts[end - first];
    const chunk = {first, starts, output: new Float64Array(n), input: new Float64Array(n),
                   count: new Float64Array(n), file: new Int32Array(n).fill(-1), line: new Uint32Array(n)};
    let file = 0, line = 0, at = 0;
    for (let i = first; i < end; i++) {
      let output = 0, input = 0;
      const hasLines = columns[3].number();
      for (let j = 0; j < this.pieces.blockCount[i]; j++, at++) {
        chunk.output[at] = output += columns[0].number();
        chunk.input[at] = input += columns[1].change();
        chunk.count[at] = columns[2].number();
        if (!hasLines)
          continue;
        chunk.file[at] = (file += columns[4].change()) - 1;
        chunk.line[at] = line += columns[5].change();
      }
    }
    return chunk;
  }

  chunkOf(piece) {
    const starts = this.description.chunks;
    let low = 0, high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= piece)
        low = middle + 1;
      else
        high = middle;
    }
    return low - 1;
  }

  chunkEntry(piece) {
    const number = this.chunkOf(piece);
    let entry = this.chunks.get(number);
    if (entry) {
      this.chunks.delete(number);
    } else {
      entry = {value: null};
      entry.promise = this.readChunk(number).then((value) => (entry.value = value));
      if (this.chunks.size >= CHUNKS_KEPT)
        this.chunks.delete(this.chunks.keys().next().value);
    }
    this.chunks.set(number, entry);
    return entry;
  }

  // The blocks of a piece.
  async blocksOf(piece) {
    return blocksIn(await this.chunkEntry(piece).promise, piece);
  }

  // The same if they are at hand; else null, and ready() is called when they are.
  blocksNow(piece, ready) {
    const entry = this.chunkEntry(piece);
    if (entry.value)
      return blocksIn(entry.value, piece);
    entry.promise.then(ready);
    return null;
  }
}
