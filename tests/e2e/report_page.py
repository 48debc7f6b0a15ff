# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the data of batreport's page, as spec/report.md describes it."""

import base64
import collections
import html.parser
import json
import pathlib
import re
import struct
import zlib

Piece = collections.namedtuple("Piece", "address size kind function samples executed blocks")
Function = collections.namedtuple("Function", "name plain main input_address input_size is_reordered")
Block = collections.namedtuple("Block", "output input count file line")
Edge = collections.namedtuple("Edge", "source source_block target target_block is_entry count mispredicted")
Instruction = collections.namedtuple("Instruction", "address size text count to function file line passed ways")


def numbers(data):
    """All ULEB128 numbers of a column."""
    result, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            result.append(value)
            value = shift = 0
    return result


def signed(value):
    """A zigzag-coded change."""
    return -(value + 1 >> 1) if value & 1 else value >> 1


class Tags(html.parser.HTMLParser):
    """The elements of a page, with the names of their attributes, in order."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        self.found.append(("/" + tag,))


class Page:
    def __init__(self, path):
        self._read(path)
        self.pieces = self._pieces()
        self.functions = self._functions()

    def _read(self, path):
        self.text = pathlib.Path(path).read_text("utf-8")
        self.scripts = re.findall(r"<script([^>]*)>(.*?)</script>", self.text, re.S)
        self.parts = {}
        for attributes, content in self.scripts:
            found = re.search(r'type="([^"]*)" id="data-?([^"]*)"', attributes)
            if found and found[1] == "application/json":
                self.description = json.loads(content)
            elif found:
                self.parts[found[2]] = zlib.decompress(base64.b64decode(content, validate=True), -15)

    def figures(self):
        """{label: number} of the summary."""
        rows = re.findall(r'<th scope="row" class="level\d">([^<]*)</th><td>([\d,]+)</td>', self.text)
        return {label: int(number.replace(",", "")) for label, number in rows}

    def columns(self, name):
        data, at, result = self.parts[name], 0, []
        while at < len(data):
            size, shift = 0, 0
            while True:
                size |= (data[at] & 127) << shift
                shift += 7
                at += 1
                if data[at - 1] < 128:
                    break
            result.append(numbers(data[at:at + size]))
            at += size
        return result

    def texts(self, name):
        return self.parts[name].split(b"\0")[:-1]

    def _pieces(self):
        sections, result, section, end, function = self.description["output"], [], 0, 0, 0
        for step, gap, size, kind, change, samples, executed, blocks in zip(*self.columns("pieces")):
            end = 0 if step else end
            section += step
            function += signed(change)
            address = int(sections[section]["address"], 16) + end + gap
            result.append(Piece(address, size, kind, function, samples, executed, blocks))
            end += gap + size
        return result

    def _functions(self):
        result, main, end = [], 0, 0
        columns = zip(self.texts("names"), self.texts("plain"), *self.columns("functions")[:5])
        for name, plain, step, section, change, size, is_reordered in columns:
            main += signed(step)
            offset = end + signed(change)
            address = int(self.description["input"][section - 1]["address"], 16) + offset if section else None
            result.append(Function(name, plain, main, address, size, bool(is_reordered)))
            end = offset + size
        return result

    def blocks(self):
        """The blocks of each piece."""
        result, firsts = [], [*self.description["chunks"], len(self.pieces)]
        for chunk, first in enumerate(firsts[:-1]):
            outputs, inputs, counts, has_lines, files, lines = (
                iter(c) for c in self.columns(f"blocks-{chunk}")[:6])
            file = line = 0
            for piece in self.pieces[first:firsts[chunk + 1]]:
                blocks, output, at = [], 0, 0
                for _ in range(piece.blocks):
                    output += next(outputs)
                    at += signed(next(inputs))
                    blocks.append(Block(output, at, next(counts), None, None))
                if next(has_lines):
                    for i, block in enumerate(blocks):
                        file += signed(next(files))
                        line += signed(next(lines))
                        blocks[i] = block._replace(file=file - 1, line=line)
                result.append(blocks)
        return result

    def edges(self):
        """All edges; source and target are pieces, -1 outside of functions."""
        result, source = [], 0
        for change, block, to, to_block, is_entry, count, mispredicted in zip(*self.columns("edges")[:7]):
            source += signed(change)
            result.append(Edge(source - 1, block, source + signed(to) - 1, to_block, bool(is_entry), count, mispredicted))
        return result

    def instructions(self, side):
        """The instructions of "before" or "after", by function or piece: to is another instruction's address, function what
        it leads to, ways {address: (count, mispredicted)}."""
        texts, columns = self.texts("instructions"), self.columns(side)
        branches = [iter(column) for column in self.columns(side + "-branches")[:6]]
        numbers_of, number = {}, 0
        for step in branches[0]:
            number += step
            passed, ways = next(branches[1]), {}
            for _ in range(next(branches[2])):
                ways[number + signed(next(branches[3]))] = next(branches[4]), next(branches[5])
            numbers_of[number] = passed, ways
        owners, addresses, all_ = [], [], list(zip(*columns[2:8]))
        owner, at = 0, 0
        for change, count in zip(*columns[:2]):
            owner += signed(change)
            address = self.functions[owner].input_address if side == "before" else self.pieces[owner].address
            for size, *_ in all_[at:at + count]:
                owners.append(owner)
                addresses.append(address)
                address += size
            at += count
        result, ran, file, line = {}, 0, 0, 0
        for i, (size, text, more, target, files, lines) in enumerate(all_):
            ran, file, line = ran + signed(more), file + signed(files), line + signed(lines)
            to = addresses[i + signed(target // 2 - 1)] if target and target % 2 == 0 else None
            passed, ways = numbers_of.get(i, (0, {}))
            result.setdefault(owners[i], []).append(Instruction(
                addresses[i], size, texts[text].decode(), ran, to, target // 2 if target % 2 else None, file - 1, line, passed,
                {addresses[k]: counts for k, counts in ways.items()}))
        return result


class Side(Page):
    """One of the binaries of a comparison."""

    def __init__(self, whole, key):  # pylint: disable=super-init-not-called
        self.description = whole.description[key]
        self.parts = {name[len(key) + 1:]: data for name, data in whole.parts.items() if name.startswith(key + "-")}
        self.pieces = self._pieces()
        self.functions = self._functions()


class Comparison(Page):
    """A page about two binaries, in memory. pairs: (old function or None, flags) of each new one; went: of each old one."""

    def __init__(self, path):  # pylint: disable=super-init-not-called
        self._read(path)
        self.old, self.new = Side(self, "old"), Side(self, "new")
        self.pairs, before = [], 0
        for change, flags in zip(*self.columns("pairs")[:2]):
            number = before + signed(change)
            self.pairs.append((number - 1 if number else None, flags))
            before = number or before
        self.went = self.columns("went")[0]

    def both(self, title):
        """{label: (old, new)} of a card of the summary."""
        card = self.text.split(f"<h3>{title}</h3>")[1].split("</table>")[0]
        rows = re.findall(r'<th scope="row">(?:<bdi>)?([^<]*)(?:</bdi>)?</th><td>([\d,]*)</td><td>([\d,]*)</td>', card)
        return {label: tuple(int(n.replace(",", "")) if n else None for n in numbers) for label, *numbers in rows}

    def counts(self):
        """{filter: number} of the summary's lists."""
        rows = re.findall(r'<a href="#functions\?filter=(\w+)">[^<]*</a></th><td>([\d,]+)</td>', self.text)
        return {name: int(number.replace(",", "")) for name, number in rows}


def renamed(data, names):
    """The bytes of an ELF file whose symbols {old name: new name} are called otherwise."""
    data = bytearray(data)
    table, = struct.unpack_from("<Q", data, 0x28)
    count, = struct.unpack_from("<H", data, 0x3c)
    headers = [table + 64 * i for i in range(count)]
    symbols = next(h for h in headers if struct.unpack_from("<I", data, h + 4)[0] == 2)
    offset, size, link = struct.unpack_from("<QQI", data, symbols + 24)
    strings = headers[link]
    start, length = struct.unpack_from("<QQ", data, strings + 24)
    text = bytes(data[start:start + length])
    places = {}
    for old, new in names.items():
        places[old] = len(text)
        text += new + b"\0"
    for at in range(offset, offset + size, 24):
        name, = struct.unpack_from("<I", data, at)
        old = text[name:text.index(b"\0", name)]
        if old in places:
            struct.pack_into("<I", data, at, places[old])
    struct.pack_into("<QQ", data, strings + 24, len(data), len(text))
    return bytes(data) + text
