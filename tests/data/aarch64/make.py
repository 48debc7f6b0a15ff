#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes instructions.txt: words of AArch64's instructions, and what they are by GNU as and objdump.

    python3 tests/data/aarch64/make.py

A line has four columns with tabs between: the word, the mnemonic, the mnemonic with the operands' kinds, sizes and
numbers but without the registers' numbers, and the whole text without what depends on the address. Mnemonics that
the two hashes of next/instruction_aarch64.c take for one are one here: a condition and its opposite, LDR and LDUR.
"""

import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TARGET = ".arch armv8.5-a+crypto+sve+memtag\n.arch_extension fp16\n.arch_extension sha3\n"

# Each is assembled twice, with registers of other numbers the second time.
LINES = """
adr x1, .
adr x1, .+4
adrp x1, .
add x1, x2, #8
add x1, x2, #8, lsl #12
add w1, w2, #8
sub x1, x2, #8
add x1, x2, #16
adds x1, x2, #8
subs w1, w2, #1
cmp x1, #8
cmp w1, #8
cmn x1, #8
cmp sp, #8
add x1, sp, #8
add x1, sp, #16
sub sp, sp, #32
add x1, x29, #24
mov x1, sp
mov sp, x1
and x1, x2, #0xff
and w1, w2, #0xff
and x1, x2, #0xf0f0f0f0f0f0f0f0
and sp, x2, #0xfffffffffffffff0
orr x1, x2, #0x5555555555555555
eor w1, w2, #1
ands w1, w2, #0x80000001
tst w1, #0x80000001
tst x1, #0x3ffffffffffff8
mov x1, #0x5555555555555555
mov x1, #7
mov w1, #7
mov x1, #-7
mov x1, #0x70000
movk x1, #7
movk x1, #7, lsl #16
lsl x1, x2, #3
lsl w1, w2, #3
lsr x1, x2, #3
asr w1, w2, #31
ubfx x1, x2, #3, #5
ubfiz x1, x2, #3, #5
bfi x1, x2, #3, #5
bfxil x1, x2, #3, #5
sbfiz x1, x2, #3, #5
sbfx x1, x2, #3, #5
uxtb w1, w2
uxth w1, w2
sxtb x1, w2
sxth w1, w2
sxtw x1, w2
extr x1, x2, x3, #7
b.eq .
b.ne .+8
b.lt .+8
cbz x1, .+8
cbnz x1, .
cbz w1, .
tbz x1, #40, .
tbnz x1, #40, .+8
tbz w1, #3, .
b .+8
b .
bl .
bl .+16
br x1
blr x1
ret
braaz x1
blrab x1, x2
retaa
nop
bti c
paciasp
autiasp
svc #0
svc #1
brk #1
hlt #1
mrs x1, tpidr_el0
msr tpidr_el0, x1
mrs x1, fpcr
dmb ish
dsb sy
isb
dc zva, x1
ldr x1, [x2]
ldr x1, [x2, #8]
ldr w1, [x2, #8]
ldr x1, [x2, #-8]
ldr x1, [x2, #16]!
ldr x1, [x2], #16
ldr x1, [x2, x3]
ldr x1, [x2, x3, lsl #3]
ldr x1, [x2, w3, sxtw #3]
ldr x1, [sp, #8]
ldr x1, [sp, #24]
ldr x1, [sp], #16
ldr x1, [x29, #40]
ldr x1, .
ldr w1, .+8
ldrsw x1, .
ldr q1, .
ldr d1, [x2, #8]
ldr q1, [x2, #32]
ldr s1, [x2, x3, lsl #2]
str q1, [sp, #16]
str q1, [sp, #40]
str x1, [x2, #8]
str xzr, [x2, #8]
str w1, [x2], #-4
str b1, [x2]
ldrb w1, [x2, #8]
strb w1, [x2, #8]
strb wzr, [x2, #8]
ldrh w1, [x2, #8]
ldrh w1, [x2, #7]
strh w1, [x2, w3, uxtw #1]
ldrsb w1, [x2, #8]
ldrsb x1, [x2, #8]
ldrsh x1, [x2], #2
ldrsw x1, [x2, #8]
prfm pldl1keep, [x2, #8]
ldtr x1, [x2, #8]
ldp x1, x3, [x2, #16]
ldp w1, w3, [x2, #16]
ldp x1, x3, [x2], #16
ldp x1, x3, [x2, #-16]!
ldpsw x1, x3, [x2, #16]
stp x1, x3, [x2, #16]
stp xzr, xzr, [x2, #16]
stp x29, x30, [sp, #-48]!
stp x29, x30, [sp, #-64]!
ldp x29, x30, [sp], #48
stp x1, x3, [sp, #16]
stp q1, q3, [x2, #32]
ldp d1, d3, [x2, #16]
ldnp x1, x3, [x2, #16]
ldxr x1, [x2]
stxr w1, x3, [x2]
ldaxr w1, [x2]
stlxr w1, w3, [x2]
ldar x1, [x2]
stlr w1, [x2]
ldarb w1, [x2]
cas x1, x3, [x2]
casal w1, w3, [x2]
ldapur x1, [x2, #8]
stlur w1, [x2, #-4]
ldaddal x1, x3, [x2]
ldadd w1, w3, [x2]
swp x1, x3, [x2]
ldaprb w1, [x2]
ldraa x1, [x2, #8]
stg x1, [x2, #16]
ld1 {v1.16b}, [x2]
ld1 {v1.16b, v2.16b}, [x2]
ld1 {v1.16b}, [x2], #16
ld1 {v1.16b}, [x2], x3
ld1 {v1.s}[1], [x2]
ld1r {v1.4s}, [x2]
st2 {v1.4s, v2.4s}, [x2]
st1 {v1.d}[1], [x2], #8
and x1, x2, x3
and x1, x2, x3, lsl #4
bic w1, w2, w3
orr x1, x2, x3
mov x1, x2
mov w1, w2
orn x1, x2, x3
mvn x1, x2
eor w1, w2, w3
eon w1, w2, w3
ands x1, x2, x3
tst x1, x2
bics x1, x2, x3
add x1, x2, x3
add x1, x2, x3, lsl #3
add w1, w2, w3
add x1, x2, w3, sxtw
add x1, x2, w3, sxtw #2
sub x1, x2, x3
neg x1, x2
subs x1, x2, x3
negs w1, w2
cmp x1, x2
cmp x1, w2, uxtb
cmn w1, w2
adc x1, x2, x3
sbc x1, x2, x3
ngc x1, x2
ccmp x1, x2, #0, ne
ccmp x1, #5, #0, ne
ccmp x1, #6, #4, eq
ccmn w1, w2, #0, ne
csel x1, x2, x3, eq
csel x1, x2, x3, ne
csinc x1, x2, x3, eq
cset w1, eq
csetm x1, eq
csinv x1, x2, x3, lt
csneg x1, x2, x3, lt
udiv x1, x2, x3
sdiv w1, w2, w3
lslv x1, x2, x3
lsrv x1, x2, x3
asrv x1, x2, x3
rorv x1, x2, x3
crc32x w1, w2, x3
rbit x1, x2
rev x1, x2
rev16 w1, w2
clz x1, x2
cls w1, w2
madd x1, x2, x3, x4
mul x1, x2, x3
msub w1, w2, w3, w4
mneg w1, w2, w3
smull x1, w2, w3
umulh x1, x2, x3
umaddl x1, w2, w3, x4
fmov d1, x2
fmov x1, d2
fmov s1, w2
fcvtzs x1, d2
fcvtzu w1, s2
scvtf d1, x2
ucvtf s1, w2
scvtf d1, x2, #4
fcvtzs w1, s2, #4
fmov d1, d2
fabs d1, d2
fneg s1, s2
fsqrt d1, d2
fcvt d1, s2
frintz d1, d2
fcmp d1, d2
fcmp s1, s2
fcmp d1, #0.0
fcmpe d1, d2
fmov d1, #1.0
fmov d1, #2.0
fccmp d1, d2, #0, ne
fadd d1, d2, d3
fadd s1, s2, s3
fsub d1, d2, d3
fmul d1, d2, d3
fdiv d1, d2, d3
fmaxnm d1, d2, d3
fnmul d1, d2, d3
fcsel d1, d2, d3, eq
fmadd d1, d2, d3, d4
fnmsub d1, d2, d3, d4
fadd h1, h2, h3
add v1.4s, v2.4s, v3.4s
add v1.2d, v2.2d, v3.2d
add d1, d2, d3
sub v1.4s, v2.4s, v3.4s
mul v1.4s, v2.4s, v3.4s
cmeq v1.16b, v2.16b, v3.16b
cmhi v1.8b, v2.8b, v3.8b
and v1.16b, v2.16b, v3.16b
orr v1.16b, v2.16b, v3.16b
bic v1.16b, v2.16b, v3.16b
eor v1.16b, v2.16b, v3.16b
bsl v1.16b, v2.16b, v3.16b
bit v1.16b, v2.16b, v3.16b
fadd v1.2d, v2.2d, v3.2d
fsub v1.2d, v2.2d, v3.2d
fmla v1.4s, v2.4s, v3.4s
faddp v1.4s, v2.4s, v3.4s
addp v1.16b, v2.16b, v3.16b
umaxp v1.4s, v2.4s, v3.4s
saddl v1.4s, v2.4h, v3.4h
umull v1.2d, v2.2s, v3.2s
umlal2 v1.4s, v2.8h, v3.8h
pmull v1.1q, v2.1d, v3.1d
cmeq v1.16b, v2.16b, #0
cnt v1.8b, v2.8b
xtn v1.8b, v2.8h
sqxtn v1.8b, v2.8h
neg v1.4s, v2.4s
not v1.16b, v2.16b
rev64 v1.4s, v2.4s
fcvtzs v1.4s, v2.4s
scvtf v1.2d, v2.2d
fneg v1.2d, v2.2d
fabs v1.2d, v2.2d
addv s1, v2.4s
uaddlv h1, v2.8b
umaxv s1, v2.4s
fneg v1.8h, v2.8h
aese v1.16b, v2.16b
aesmc v1.16b, v2.16b
sha1h s1, s2
sha256su0 v1.4s, v2.4s
dup v1.4s, w2
dup v1.4s, v2.s[1]
umov w1, v2.h[1]
smov x1, v2.h[1]
ins v1.s[1], w2
ins v1.s[1], v2.s[2]
sha256h q1, q2, v3.4s
tbl v1.16b, {v2.16b}, v3.16b
tbx v1.16b, {v2.16b}, v3.16b
zip1 v1.4s, v2.4s, v3.4s
uzp2 v1.4s, v2.4s, v3.4s
trn1 v1.2d, v2.2d, v3.2d
ext v1.16b, v2.16b, v3.16b, #8
ext v1.16b, v2.16b, v3.16b, #4
sqrdmlah v1.4s, v2.4s, v3.4s
fcmla v1.4s, v2.4s, v3.4s, #90
fadd v1.8h, v2.8h, v3.8h
movi v1.4s, #0
movi v1.4s, #1
movi v1.16b, #255
movi d1, #0
mvni v1.4s, #1
orr v1.4s, #1
fmov v1.2d, #1.0
shl v1.4s, v2.4s, #3
shl v1.4s, v2.4s, #4
ushr v1.2d, v2.2d, #32
sshll v1.8h, v2.8b, #1
shrn v1.8b, v2.8h, #4
sshr d1, d2, #3
mul v1.4s, v2.4s, v3.s[1]
fmla v1.2d, v2.2d, v3.d[1]
smull v1.4s, v2.4h, v3.h[2]
fmul d1, d2, v3.d[0]
eor3 v1.16b, v2.16b, v3.16b, v4.16b
xar v1.2d, v2.2d, v3.2d, #3
rax1 v1.2d, v2.2d, v3.2d
sha512h q1, q2, v3.2d
add z1.s, z2.s, z3.s
sub z1.s, z2.s, z3.s
"""


def other_registers(line):
    """The line with other registers: 1 to 4 are 11 to 14."""
    return re.sub(r"\b([wxbhsdqvz])([1-4])\b", r"\g<1>1\2", line)


def words_of(lines):
    """Each line's word and its text by objdump."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "all.s")
        source.write_text(TARGET + "\n".join(lines) + "\n", encoding="ascii")
        subprocess.run(["aarch64-linux-gnu-as", source, "-o", source.with_suffix(".o")], check=True)
        listing = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-addresses", source.with_suffix(".o")], check=True,
                                 stdout=subprocess.PIPE, encoding="ascii").stdout
    found = re.findall(r"^\t([0-9a-f]{8}) \t(.*)$", listing, re.M)
    assert len(found) == len(lines)
    return found


def without_place(text):
    """The text without what depends on the address."""
    text = re.sub(r"\s*//.*", "", text).strip().replace("\t", " ")
    text = re.sub(r"\s*<.*?>", "", text)
    name, _, operands = text.partition(" ")
    if name in ("b", "bl") or name.startswith("b."):
        operands = ""
    if name in ("cbz", "cbnz", "tbz", "tbnz", "adr", "adrp") or (name in ("ldr", "ldrsw") and "[" not in operands):
        operands = operands.rpartition(",")[0]
    return "adr" if name == "adrp" else name, operands


def without_registers(name, operands):
    """The mnemonic, and the operands without what the hash of their shape leaves out."""
    name = {"cbz": "cb", "cbnz": "cb", "tbz": "tb", "tbnz": "tb"}.get(name, name)
    name = "b.cond" if name.startswith("b.") else name
    if name in ("ldur", "stur", "ldurh"):
        name = name.replace("ur", "r")
    if name in ("ldr", "ldrsw") and "[" not in operands:
        name += " literal"
    # What is on the stack may be elsewhere there.
    operands = re.sub(r"\[(sp|x29), #-?\d+\]", r"[\1]", operands)
    operands = re.sub(r"(\[sp.*\]),.*", r"\1, number", operands)
    if name in ("add", "sub"):
        operands = re.sub(r"\b(sp|x29), #.*", r"\1, number", operands)
    return name, re.sub(r"\b([wxbhsdqvz])\d+\b", r"\1", operands)


def main():
    lines = [line for line in LINES.splitlines() if line]
    rows = {}
    for word, text in words_of(lines + [other_registers(line) for line in lines]):
        name, operands = without_place(text)
        kind, shape = without_registers(name, operands)
        rows[word] = f"{word}\t{kind}\t{kind} {shape}\t{name} {operands}\n"
    (HERE / "instructions.txt").write_text("".join(rows.values()), encoding="ascii")


if __name__ == "__main__":
    main()
