# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes pprof's profile.proto with nothing but the message's definition (proto/profile.proto in google/pprof)."""

import dataclasses
import gzip


def packed_number(number):
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(result) + bytes([number])


def packed_message(*parts):
    """A message of protobuf from (field, number, or bytes)."""
    return b"".join(packed_number(field << 3) + packed_number(value) if isinstance(value, int) else
                    packed_number(field << 3 | 2) + packed_number(len(value)) + value for field, value in parts)


def varint(data, at):
    """(number, where it ends)."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(field, number or bytes) of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError(f"field {key >> 3} ends behind its message")
        else:
            raise ValueError(f"wire type {key & 7} of field {key >> 3}")
        yield key >> 3, value


def numbers(data):
    """The numbers of a packed field."""
    at, result = 0, []
    while at < len(data):
        value, at = varint(data, at)
        result.append(value)
    return result


def message(data):
    """{field: its last value} of a message whose fields come once."""
    result = {}
    for field, value in fields(data):
        if field in result:
            raise ValueError(f"field {field} comes twice")
        result[field] = value
    return result


@dataclasses.dataclass
class Profile:
    """types: [(type, unit)]; samples: [([location], [value])]; the others by their ids."""

    types: list
    samples: list
    mappings: dict
    locations: dict  # id: (mapping, address, [(function, line, column)]), the innermost line first
    functions: dict  # id: (name, system name, file, start line)


def read(path):
    """The profile in a file, every reference in it resolved."""
    data = gzip.decompress(path.read_bytes())
    parts = {}
    for field, value in fields(data):
        parts.setdefault(field, []).append(value)
    strings = [value.decode("utf-8") for value in parts[6]]
    if strings[0] != "":
        raise ValueError("string 0 is not empty")
    functions, mappings, locations, samples = {}, {}, {}, []
    for one in map(message, parts[5]):
        functions[one[1]] = (strings[one.get(2, 0)], strings[one.get(3, 0)], strings[one.get(4, 0)],
                             one.get(5, 0))
    for one in map(message, parts.get(3, [])):
        mappings[one[1]] = {"start": one.get(2, 0), "limit": one.get(3, 0), "offset": one.get(4, 0),
                            "file": strings[one.get(5, 0)], "build_id": strings[one.get(6, 0)],
                            "has": [one.get(i, 0) for i in (7, 8, 9, 10)]}
    for data in parts[4]:
        one, lines = {}, []
        for field, value in fields(data):
            if field == 4:
                line = message(value)
                lines.append((functions[line[1]], line.get(2, 0), line.get(3, 0)))
            else:
                one[field] = value
        if one.get(2, 0) and one[2] not in mappings:
            raise ValueError(f"location {one[1]} has no mapping")
        if one[1] in locations:
            raise ValueError(f"location {one[1]} comes twice")
        locations[one[1]] = (mappings.get(one.get(2, 0)), one.get(3, 0), lines)
    for one in map(message, parts[2]):
        samples.append(([locations[i] for i in numbers(one[1])], numbers(one[2])))
    types = [(strings[one.get(1, 0)], strings[one.get(2, 0)]) for one in map(message, parts[1])]
    if any(len(values) != len(types) for _, values in samples):
        raise ValueError("a sample has another number of values than there are types")
    return Profile(types, samples, mappings, locations, functions)
