// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The packed parts of the page's data: spec/report.md. They are unpacked when they are first needed.

export const description = JSON.parse(document.getElementById("data").textContent);

export async function unpack(name) {
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

export async function columnsOf(name) {
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
export class Texts {
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
