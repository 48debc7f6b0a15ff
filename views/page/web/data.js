// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data of the page about one binary: spec/report.md.
import { Code } from "./code.js";
import { Texts, columnsOf, description, unpack } from "./packed.js";

export const code = new Code(description, "");

export const {pieces, functions} = code;
export const load = () => code.load();
export const piecesOf = (number) => code.piecesOf(number);
export const addressOf = (piece, offset) => code.addressOf(piece, offset);
export const inputAddressOf = (number, offset) => code.inputAddressOf(number, offset);
export const profileName = (number) => code.profileName(number);
export const nameOf = (number) => code.nameOf(number);
export const nameFilter = (text) => code.nameFilter(text);
export const orderOfNames = () => code.orderOfNames();
export const pieceAt = (text) => code.pieceAt(text);
export const blocksOf = (piece) => code.blocksOf(piece);
export const blocksNow = (piece, ready) => code.blocksNow(piece, ready);

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
