# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LEB128 numbers, as in notes and DWARF."""


def uleb(value):
    """A number modulo 2^64 as ULEB128."""
    value %= 1 << 64
    encoded = bytearray()
    while value > 0x7f:
        encoded.append(value & 0x7f | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def sleb(value):
    encoded = bytearray()
    while not -64 <= value < 64:
        encoded.append(value & 0x7f | 0x80)
        value >>= 7
    encoded.append(value & 0x7f)
    return bytes(encoded)
