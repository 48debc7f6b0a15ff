#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlined functions, found by the note alone, in code that is made here byte by byte.

A caller has a copy of a function without entries in the note. Samples in the copy count for the function
if all of its code is there; if it could be something else, they count for no function.
"""

import collections
import json
import pathlib
import tempfile
import unittest

import bolt_profiles
import made_code
import toolbox

TEXT = made_code.TEXT

# A loop over a list. Blocks at 0, 2, 7 and 0x10.
SUM = bytes.fromhex("31c0"         # 0   xor  eax, eax
                    "4885ff"       # 2   test rdi, rdi
                    "7409"         # 5   je   0x10
                    "0307"         # 7   add  eax, [rdi]
                    "488b7f08"     # 9   mov  rdi, [rdi + 8]
                    "ebf3"         # d   jmp  2
                    "90"           # f   nop
                    "c3")          # 10  ret
SUM_ENTRIES = [(0, 0), (2, 2), (5, 5, True), (7, 7), (0xd, 0xd, True), (0x10, 0x10)]

# The same in a caller, with an inverted branch and separated blocks. Blocks of the input at 0 and 9.
CALLER = bytes.fromhex("53"        # 0   push rbx
                       "31c0"      # 1   xor  eax, eax
                       "4885ff"    # 3   test rdi, rdi
                       "7502"      # 6   jne  0xa
                       "eb08"      # 8   jmp  0x12
                       "0307"      # a   add  eax, [rdi]
                       "488b7f08"  # c   mov  rdi, [rdi + 8]
                       "ebf1"      # 10  jmp  3
                       "5b"        # 12  pop  rbx
                       "c3")       # 13  ret
CALLER_ENTRIES = [(0, 0), (0x12, 9)]
START, CALL = TEXT, TEXT + 0x20

# Lists of 3, 5 times, and empty ones, 2 times.
PROFILE = [(f"T X:0 {CALL:x} {CALL + 6:x} 5"), f"T X:0 {CALL:x} {CALL + 8:x} 2",
           f"T {CALL + 6:x} {CALL + 0xa:x} {CALL + 0x10:x} 15",
           f"T {CALL + 0x10:x} {CALL + 3:x} {CALL + 6:x} 10",
           f"T {CALL + 0x10:x} {CALL + 3:x} {CALL + 8:x} 5",
           f"T {CALL + 8:x} {CALL + 0x12:x} {CALL + 0x13:x} 7"]
RECORDS = {("0", "2"): 7, ("2", "7"): 15, ("7", "2"): 15, ("2", "10"): 7}


class Inlined(unittest.TestCase):
    """battranslate on two functions, f (SUM) and g (CALLER)."""

    def records(self, functions, profile):
        """fdata records and the report for functions {name: (code, entries)}, one every 32 bytes."""
        code = b"".join(c.ljust(0x20, b"\xcc") for c, _ in functions.values())
        elf = made_code.Elf(code)
        for i, (name, (body, _)) in enumerate(functions.items()):
            elf.symbol(name, TEXT + 0x20 * i, len(body))
        elf.note([(TEXT + 0x20 * i, e) for i, (_, e) in enumerate(functions.values())])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            elf.save(folder / "binary")
            (folder / "profile").write_text("\n".join(profile) + "\n", encoding="ascii")
            report = toolbox.fine("battranslate", folder / "binary", "-p", folder / "profile",
                                  "-o", folder / "out", "--report=json")
            return bolt_profiles.read_fdata(folder / "out")[1], json.loads(report)

    def translate(self, functions, profile=()):
        """The result for PROFILE and more: ({function: {(block, block): count}}, {function: entries from
        an unknown place}, report)."""
        records, report = self.records(functions, [*PROFILE, *profile])
        edges = collections.defaultdict(collections.Counter)
        entered = collections.Counter()
        for (kind, function, source, _, target, to), value in records.items():
            if kind == "0":
                entered[target] += value[-1]
            elif function == target:
                block = max(e[0] for e in functions[function][1]
                            if len(e) == 2 and e[0] <= int(source, 16))
                edges[function][f"{block:x}", to] += value[-1]
        return edges, entered, report

    def check_not_found(self, functions):
        """Samples in the caller count for the caller only."""
        edges, entered, report = self.translate(functions)
        self.assertEqual({}, {f: e for f, e in edges.items() if f != "g"})
        self.assertEqual({"g": 7}, dict(entered))
        self.assertEqual(0, report["inlined_calls"])

    def test_found(self):
        """All samples in the copy count for the function, and the caller continues after it."""
        edges, entered, report = self.translate({"f": (SUM, SUM_ENTRIES),
                                                 "g": (CALLER, CALLER_ENTRIES)})
        self.assertEqual(RECORDS, dict(edges["f"]))
        self.assertEqual({("0", "9"): 7}, dict(edges["g"]))
        self.assertEqual({"f": 7, "g": 7}, dict(entered))
        self.assertEqual(7, report["inlined_calls"])

    def test_beside_calls(self):
        """The function's own run is added to the run in the copy."""
        own = [f"T {CALL + 0x30:x} {START:x} {START + 5:x} 100",
               f"T {START + 5:x} {START + 0x10:x} {START + 0x10:x} 100"]
        edges, entered, _ = self.translate({"f": (SUM, SUM_ENTRIES),
                                            "g": (CALLER, CALLER_ENTRIES)}, own)
        wanted = RECORDS | {("0", "2"): 107, ("2", "10"): 107}
        self.assertEqual(wanted, dict(edges["f"]))
        self.assertEqual({"f": 107, "g": 7}, dict(entered))

    def test_two_functions(self):
        """The code may be a copy of either function."""
        self.check_not_found({"f": (SUM, SUM_ENTRIES), "g": (CALLER, CALLER_ENTRIES),
                              "h": (SUM, SUM_ENTRIES)})

    def test_other_code(self):
        """One instruction differs: at the start, in the loop, or by its condition."""
        for at, byte in ((2, 0xdb), (0xb, 0x06), (0xf, 0x10), (6, 0x7f)):
            code = bytearray(CALLER)
            code[at] = byte
            self.check_not_found({"f": (SUM, SUM_ENTRIES), "g": (code, CALLER_ENTRIES)})

    def test_entries(self):
        """Code with an entry in the note belongs to the caller."""
        for entry in ((6, 4, True), (0xc, 6, True), (0x10, 6, True)):
            self.check_not_found({
                "f": (SUM, SUM_ENTRIES), "g": (CALLER, sorted([*CALLER_ENTRIES, entry]))})

    def test_two_returns(self):
        """A call returns to one place, not two."""
        function = bytes.fromhex("4885ff" "7403" "31c0" "c3" "89f8" "c3")
        entries = [(0, 0), (3, 3, True), (5, 5), (8, 8)]
        caller = bytes.fromhex("53" "4885ff" "7404" "31c0" "eb02" "89f8" "5b" "c3")
        profile = [f"T X:0 {CALL:x} {CALL + 8:x} 6", f"T {CALL + 8:x} {CALL + 12:x} {CALL + 13:x} 6"]
        for code, calls in ((caller, 6), (caller[:9] + b"\x03" + caller[10:], 0)):
            records, report = self.records({"f": (function, entries), "g": (code, [(0, 0)])},
                                           profile)
            self.assertEqual(calls, report["inlined_calls"])
            found = {key: value[-1] for key, value in records.items() if key[1] == "f"}
            self.assertEqual({("1", "f", "0", "1", "f", "5"): 6} if calls else {}, found)

    def test_tail_call(self):
        """A jump of the function to another one is a call in the caller; it counts for the function."""
        start = CALL + 0x20
        function = (bytes.fromhex("4885ff" "7405" "e9") +
                    (start - TEXT - 10).to_bytes(4, "little") + b"\xc3")
        caller = (bytes.fromhex("53" "4885ff" "7405" "e8") +
                  (start - CALL - 11).to_bytes(4, "little") + bytes.fromhex("5b" "c3"))
        records, report = self.records(
            {"f": (function, [(0, 0), (3, 3, True), (5, 5), (10, 10)]), "g": (caller, [(0, 0)]),
             "h": (b"\xc3", [(0, 0)])},
            [f"T X:0 {CALL:x} {CALL + 6:x} 4", f"T {CALL + 6:x} {start:x} {start:x} 4",
             f"R {start:x} {CALL + 11:x} {CALL + 12:x} 4"])
        self.assertEqual(4, report["inlined_calls"])
        self.assertEqual(0, report["unknown_callers"])
        self.assertEqual({("1", "f", "0", "1", "f", "5"): 4, ("1", "f", "5", "1", "h", "0"): 4,
                          ("0", "[unknown]", "0", "1", "f", "0"): 4,
                          ("0", "[unknown]", "0", "1", "g", "0"): 4},
                         {key: value[-1] for key, value in records.items()})



class OnAnEdge(unittest.TestCase):
    """Code that BOLT put on an edge behind a block has the block's entry; other branches share it."""

    # Blocks of the input at 0, 5, 9 and b. The code at 9 is on the edges 0 -> b and 5 -> b.
    CODE = bytes.fromhex("4885ff"      # 0   test rdi, rdi
                         "7404"        # 3   je   9
                         "85f6"        # 5   test esi, esi
                         "7506"        # 7   jne  0xf
                         "4889d8"      # 9   mov  rax, rbx
                         "eb03"        # c   jmp  0x11
                         "90"          # e   nop
                         "ffc0"        # f   inc  eax
                         "c3")         # 11  ret
    ENTRIES = [(0, 0), (3, 3, True), (5, 5), (7, 7, True), (9, 5), (0xf, 9), (0x11, 0xb)]

    def test_shared(self):
        profile = [f"T X:0 {START:x} {START + 3:x} 5", f"T {START + 3:x} {START + 9:x} {START + 0xc:x} 5",
                   f"T X:0 {START:x} {START + 0xc:x} 2",
                   f"T {START + 0xc:x} {START + 0x11:x} {START + 0x11:x} 7"]
        records, _ = Inlined.records(self, {"f": (self.CODE, self.ENTRIES)}, profile)
        edges = collections.Counter()
        for (kind, _, source, _, _, to), value in records.items():
            if kind == "1":
                edges["5" if int(source, 16) >= 5 else "0", to] += value[-1]
        self.assertEqual({("0", "b"): 5, ("0", "5"): 2, ("5", "b"): 2}, dict(edges))


if __name__ == "__main__":
    unittest.main()
