# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes OpenTelemetry's profiles with nothing but the messages' definition
(opentelemetry/proto/profiles/v1development/profiles.proto in open-telemetry/opentelemetry-proto, release 1.11.0)."""

import pprof_file
from pprof_file import fields, message, numbers, packed_message, packed_number

BUILD_ID = "process.executable.build_id.gnu"


def lists(data):
    """{field: all of its values}."""
    result = {}
    for field, value in fields(data):
        result.setdefault(field, []).append(value)
    return result


def read(path):
    """The profile in a file as pprof_file.Profile; every reference in it is resolved, and used tables are checked."""
    data = message(path.read_bytes())
    tables = lists(data[2])
    strings = [value.decode("utf-8") for value in tables[5]]
    # The first element of each table is zero.
    for field in range(1, 8):
        if tables[field][0] != b"":
            raise ValueError(f"table {field} begins with {tables[field][0]}")
    attributes = [message(one) for one in tables[6]]
    mappings = {}
    for number, one in enumerate(map(message, tables[1])):
        ids = [message(attributes[i][2])[1].decode() for i in numbers(one.get(5, b""))
               if strings[attributes[i][1]] == BUILD_ID]
        mappings[number] = {"start": one.get(1, 0), "limit": one.get(2, 0), "offset": one.get(3, 0),
                            "file": strings[one.get(4, 0)], "build_id": ids[0] if ids else ""}
    functions = [(strings[one.get(1, 0)], strings[one.get(2, 0)], strings[one.get(3, 0)], one.get(4, 0))
                 for one in map(message, tables[3])]
    locations = {}
    for number, one in enumerate(map(lists, tables[2])):
        lines = [(functions[line[1]], line.get(2, 0), line.get(3, 0)) for line in map(message, one.get(3, []))]
        mapping = one.get(1, [0])[0]
        locations[number] = (mappings[mapping] if mapping else None, one.get(2, [0])[0], lines)
    stacks = [[locations[i] for i in numbers(message(one).get(1, b""))] for one in tables[7]]
    (scope,) = lists(message(data[1])[2]).get(2)
    scope = lists(scope)
    samples = []
    for one in map(message, scope[2]):
        samples.append((stacks[one[1]], numbers(one[4])))
    types = [(strings[one[1]], strings[one[2]]) for one in map(message, scope[1])]
    del mappings[0], locations[0]
    return pprof_file.Profile(types, samples, mappings, locations, dict(enumerate(functions[1:], 1)))


def written(profiles, places, mappings, strings=(), **changes):
    """
    A file's bytes. profiles: [(type, [(stack, values, times)])], a stack being numbers of places, from 1 on. places:
    [(mapping, address, [(function, line)])]. mappings: [(start, limit, offset, file, build-id)], numbered from 1 on.
    changes: {"sample": parts of each sample}, to spoil it.
    """
    table = ["", *strings]

    def string(text):
        if text not in table:
            table.append(text)
        return table.index(text)

    attributes, functions, stacks = [b""], [b""], [b""]
    mapped = [b""]
    for start, limit, offset, file, build_id in mappings:
        parts = [(1, start), (2, limit), (3, offset), (4, string(file))]
        if build_id:
            attributes.append(packed_message((1, string(BUILD_ID)), (2, packed_message((1, build_id.encode())))))
            parts.append((5, packed_number(len(attributes) - 1)))
        mapped.append(packed_message(*parts))
    located = [b""]
    for mapping, address, lines in places:
        parts = [(1, mapping), (2, address)]
        for function, line in lines:
            functions.append(packed_message((1, string(function)), (2, string(function))))
            parts.append((3, packed_message((1, len(functions) - 1), (2, line))))
        located.append(packed_message(*parts))
    resources = []
    for kind, samples in profiles:
        parts = [(1, packed_message((1, string(kind)), (2, string("count"))))]
        for stack, values, times in samples:
            stacks.append(packed_message((1, b"".join(map(packed_number, stack)))))
            sample = [(1, len(stacks) - 1), *changes.get("sample", ())]
            if values:
                sample.append((4, b"".join(packed_number(value & 2**64 - 1) for value in values)))
            if times:
                sample.append((5, b"".join(time.to_bytes(8, "little") for time in times)))
            parts.append((2, packed_message(*sample)))
        resources.append((1, packed_message((1, b""), (2, packed_message((2, packed_message(*parts)))))))
    tables = packed_message(*((1, one) for one in mapped), *((2, one) for one in located), *((3, one) for one in functions),
                            (4, b""), *((5, text.encode()) for text in table), *((6, one) for one in attributes),
                            *((7, one) for one in stacks))
    return packed_message(*resources, (2, tables))
