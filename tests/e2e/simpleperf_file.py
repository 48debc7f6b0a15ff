# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what `simpleperf report-sample --protobuf` does, with nothing but the messages' definition
(simpleperf/cmd_report_sample.proto of Android)."""

import struct

from pprof_file import packed_message


def number(value):
    """An int32 of protobuf: negative ones have 64 bits."""
    return value & 2**64 - 1


def file(samples, files, types=(), version=1):
    """The bytes. samples: [(stack, number of the type)], a stack being (address, file, symbol or -1). files: {id: (path, [(symbol,
    mangled symbol)])}."""
    records = []
    for stack, kind in samples:
        entries = [(3, packed_message((1, address), (2, place), (3, number(symbol)))) for address, place, symbol in stack]
        records.append(packed_message((1, packed_message((1, 12345), (2, 7), *entries, (4, 1000000), (5, kind)))))
    records.append(packed_message((2, packed_message((1, len(samples)), (2, 0)))))
    for place, (path, symbols) in files.items():
        records.append(packed_message((3, packed_message((1, place), (2, path.encode()), *((3, s.encode()) for s, _ in symbols),
                                                         *((4, m.encode()) for _, m in symbols)))))
    records.append(packed_message((4, packed_message((1, 7), (2, 7), (3, b"app")))))
    records.append(packed_message((5, packed_message(*((1, name.encode()) for name in types), (2, b"com.example")))))
    return b"SIMPLEPERF" + struct.pack("<H", version) + b"".join(
        struct.pack("<I", len(record)) + record for record in records) + struct.pack("<I", 0)
