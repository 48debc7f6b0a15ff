// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data of the page: spec/report.md. Parts are unpacked when they are first needed.

export const description = JSON.parse(document.getElementById("data").textContent);

export const HOT = 0, COLD = 1, LEFT = 2, PLT = 3;
export const kindNames = ["hot part", "cold fragment", "left in place", "PLT entry"];

// --- Packed bytes ------------------------------------------------------------------------------

async function unpack(name) {
  const element = document.getElementById("data-" + name);
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++)
    bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The numbers of one column.
class Column {
  constructor(bytes, at, end) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  number() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128)
      return byte;
    let value = byte & 127, scale = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    return value;
  }

  change() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

async function columnsOf(name) {
  const bytes = await unpack(name), columns = [];
  const head = new Column(bytes, 0, bytes.length);
  while (head.at < bytes.length) {
    const size = head.number();
    columns.push(new Column(bytes, head.at, head.at + size));
    head.at += size;
  }
  return columns;
}

// Texts that end with a zero, in one array of bytes.
class Texts {
  constructor(bytes, count) {
    this.bytes = bytes;
    this.starts = new Uint32Array(count + 1);
    let at = 0;
    for (let i = 0; i < count; i++)
      at = this.starts[i + 1] = bytes.indexOf(0, at) + 1;
    this.decoder = new TextDecoder();
  }

  isEmpty(i) {
    return this.starts[i + 1] - this.starts[i] <= 1;
  }

  get(i) {
    return this.decoder.decode(this.bytes.subarray(this.starts[i], this.starts[i + 1] - 1));
  }

  // True if text number i contains these bytes; capital letters of ASCII count as small ones.
  contains(i, needle) {
    const bytes = this.bytes, size = needle.length, last = this.starts[i + 1] - 1 - size;
    for (let at = this.starts[i]; at <= last; at++) {
      let same = 0;
      while (same < size) {
        let byte = bytes[at + same];
        if (byte >= 65 && byte <= 90)
          byte += 32;
        if (byte !== needle[same])
          break;
        same++;
      }
      if (same === size)
        return true;
    }
    return false;
  }
}

// --- Code --------------------------------------------------------------------------------------

export const pieces = {};
export const functions = {};
let names, plainNames;

async function loadPieces() {
  const n = description.pieces, columns = await columnsOf("pieces");
  Object.assign(pieces, {
    section: new Uint32Array(n), start: new Float64Array(n), size: new Float64Array(n),
    kind: new Uint8Array(n), function: new Uint32Array(n), samples: new Float64Array(n),
    executed: new Float64Array(n), blockCount: new Uint32Array(n)});
  let section = 0, end = 0, number = 0;
  for (let i = 0; i < n; i++) {
    const step = columns[0].number();
    if (step)
      end = 0;
    section += step;
    pieces.section[i] = section;
    pieces.start[i] = end + columns[1].number();
    pieces.size[i] = columns[2].number();
    pieces.kind[i] = columns[3].number();
    number += columns[4].change();
    pieces.function[i] = number;
    pieces.samples[i] = columns[5].number();
    pieces.executed[i] = columns[6].number();
    pieces.blockCount[i] = columns[7].number();
    end = pieces.start[i] + pieces.size[i];
  }
}

async function loadFunctions() {
  const n = description.functions, columns = await columnsOf("functions");
  Object.assign(functions, {
    main: new Uint32Array(n), inputSection: new Int32Array(n), inputStart: new Float64Array(n),
    inputSize: new Float64Array(n), isReordered: new Uint8Array(n), samples: new Float64Array(n),
    executed: new Float64Array(n), bytes: new Float64Array(n), coldBytes: new Float64Array(n),
    blockCount: new Uint32Array(n), firstPiece: new Uint32Array(n + 1)});
  let main = 0, end = 0;
  for (let i = 0; i < n; i++) {
    main += columns[0].change();
    functions.main[i] = main;
    functions.inputSection[i] = columns[1].number() - 1;
    functions.inputStart[i] = end + columns[2].change();
    functions.inputSize[i] = columns[3].number();
    functions.isReordered[i] = columns[4].number();
    end = functions.inputStart[i] + functions.inputSize[i];
  }
}

// Add up the pieces of each function, and list them.
function joinPieces() {
  const n = description.functions;
  for (let i = 0; i < description.pieces; i++) {
    const number = pieces.function[i];
    functions.firstPiece[number + 1]++;
    functions.samples[number] += pieces.samples[i];
    functions.executed[number] += pieces.executed[i];
    functions.blockCount[number] += pieces.blockCount[i];
    (pieces.kind[i] === COLD ? functions.coldBytes : functions.bytes)[number] += pieces.size[i];
  }
  for (let i = 0; i < n; i++)
    functions.firstPiece[i + 1] += functions.firstPiece[i];
  const next = functions.firstPiece.slice();
  functions.pieces = new Uint32Array(description.pieces);
  for (let i = 0; i < description.pieces; i++)
    functions.pieces[next[pieces.function[i]]++] = i;
}

export async function load() {
  const [nameBytes, plainBytes] =
    await Promise.all([unpack("names"), unpack("plain"), loadPieces(), loadFunctions()]);
  names = new Texts(nameBytes, description.functions);
  plainNames = new Texts(plainBytes, description.functions);
  joinPieces();
}

export function piecesOf(number) {
  return functions.pieces.subarray(functions.firstPiece[number], functions.firstPiece[number + 1]);
}

function bigAddress(section, start) {
  return BigInt(section.address) + BigInt(start);
}

export function addressOf(piece, offset = 0) {
  return bigAddress(description.output[pieces.section[piece]], pieces.start[piece] + offset);
}

export function inputAddressOf(number, offset = 0) {
  return bigAddress(description.input[functions.inputSection[number]],
                    functions.inputStart[number] + offset);
}

// As in profiles; empty if there is none.
export function profileName(number) {
  return names.get(number);
}

export function nameOf(number) {
  if (!plainNames.isEmpty(number))
    return plainNames.get(number);
  return names.isEmpty(number) ? "function at 0x" + addressOf(functions.main[number]).toString(16)
                               : names.get(number);
}

const encoder = new TextEncoder();

// True for the functions whose names contain the text.
export function nameFilter(text) {
  const needle = encoder.encode(text.toLowerCase());
  return (number) => names.contains(number, needle) || plainNames.contains(number, needle);
}

export function orderOfNames() {
  const keys = Array.from({length: description.functions}, (unused, i) => nameOf(i));
  return (a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0);
}

// The piece at a hexadecimal address of the output, or -1.
export function pieceAt(text) {
  let address;
  try {
    address = BigInt(text);
  } catch {
    return -1;
  }
  let low = 0, high = description.pieces;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (addressOf(middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  const piece = low - 1;
  return piece >= 0 && address < addressOf(piece) + BigInt(pieces.size[piece]) ? piece : -1;
}

// --- Blocks ------------------------------------------------------------------------------------

// Chunks that were unpacked, the last used one last.
const chunks = new Map();
const CHUNKS_KEPT = 24;

async function readChunk(number) {
  const columns = await columnsOf("blocks-" + number);
  const first = description.chunks[number];
  const end = description.chunks[number + 1] ?? description.pieces;
  const starts = new Uint32Array(end - first + 1);
  for (let i = first; i < end; i++)
    starts[i - first + 1] = starts[i - first] + pieces.blockCount[i];
  const n = starts[end - first];
  const chunk = {first, starts, output: new Float64Array(n), input: new Float64Array(n),
                 count: new Float64Array(n), file: new Int32Array(n).fill(-1), line: new Uint32Array(n)};
  let file = 0, line = 0, at = 0;
  for (let i = first; i < end; i++) {
    let output = 0, input = 0;
    const hasLines = columns[3].number();
    for (let j = 0; j < pieces.blockCount[i]; j++, at++) {
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

function chunkOf(piece) {
  const starts = description.chunks;
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

function chunkEntry(piece) {
  const number = chunkOf(piece);
  let entry = chunks.get(number);
  if (entry) {
    chunks.delete(number);
  } else {
    entry = {value: null};
    entry.promise = readChunk(number).then((value) => (entry.value = value));
    if (chunks.size >= CHUNKS_KEPT)
      chunks.delete(chunks.keys().next().value);
  }
  chunks.set(number, entry);
  return entry;
}

function blocksIn(chunk, piece) {
  const from = chunk.starts[piece - chunk.first], to = chunk.starts[piece - chunk.first + 1];
  const part = (array) => array.subarray(from, to);
  return {output: part(chunk.output), input: part(chunk.input), count: part(chunk.count),
          file: part(chunk.file), line: part(chunk.line), length: to - from};
}

// The blocks of a piece.
export async function blocksOf(piece) {
  return blocksIn(await chunkEntry(piece).promise, piece);
}

// The same if they are at hand; else null, and ready() is called when they are.
export function blocksNow(piece, ready) {
  const entry = chunkEntry(piece);
  if (entry.value)
    return blocksIn(entry.value, piece);
  entry.promise.then(ready);
  return null;
}

export function blockEnd(blocks, i, size) {
  return Math.min(size, i + 1 < blocks.length ? blocks.output[i + 1] : size);
}

// --- Edges, files, stacks ------------------------------------------------------------------------

let edgesLoaded;

// All edges; from and to are pieces, or -1 outside of all functions.
export function loadEdges() {
  edgesLoaded ??= columnsOf("edges").then((columns) => {
    const n = description.edges;
    const edges = {from: new Int32Array(n), fromBlock: new Uint32Array(n), to: new Int32Array(n),
                   toBlock: new Uint32Array(n), isEntry: new Uint8Array(n),
                   count: new Float64Array(n), mispredicted: new Float64Array(n)};
    let from = 0;
    for (let i = 0; i < n; i++) {
      from += columns[0].change();
      edges.from[i] = from - 1;
      edges.fromBlock[i] = columns[1].number();
      edges.to[i] = from + columns[2].change() - 1;
      edges.toBlock[i] = columns[3].number();
      edges.isEntry[i] = columns[4].number();
      edges.count[i] = columns[5].number();
      edges.mispredicted[i] = columns[6].number();
    }
    return edges;
  });
  return edgesLoaded;
}

let filesLoaded;

export function loadFiles() {
  filesLoaded ??= unpack("files").then((bytes) => new Texts(bytes, description.files));
  return filesLoaded;
}

let stacksLoaded;

export function loadStacks() {
  stacksLoaded ??= Promise.all([columnsOf("stacks"), unpack("frames")]).then(([columns, bytes]) => {
    const n = description.nodes;
    const stacks = {depth: new Uint16Array(n), name: new Uint32Array(n), count: new Float64Array(n)};
    let last = 0;
    for (let i = 0; i < n; i++) {
      stacks.depth[i] = columns[0].number();
      stacks.name[i] = columns[1].number();
      stacks.count[i] = columns[2].number();
      last = Math.max(last, stacks.name[i]);
    }
    stacks.frames = new Texts(bytes, last + 1);
    return stacks;
  });
  return stacksLoaded;
}
