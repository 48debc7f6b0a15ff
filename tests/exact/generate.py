#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of all that compilers make branches of, for what csmith leaves out: each number makes one.

    python3 generate.py c|c++|exceptions|odd NUMBER

Dense and sparse switches, calls by pointers and virtual ones, tail calls, recursion, computed gotos, exceptions,
setjmp, copies of memory, identical functions, functions of one name in two files, halves that hardly ever run.
The program takes the number of rounds as its argument and prints a sum; it has no undefined behaviour, ends, and does
the same each time.
"""

import random
import sys

HEAD = """#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long word;
typedef word (*function)(word, word);
static long fuel;
static word sink;
static unsigned char room[4096];
"""

COMPARISONS = ["<", ">", "<=", ">=", "==", "!="]
OPERATORS = ["+", "-", "*", "^", "&", "|"]


class Program:
    """What is being written."""

    def __init__(self, number, is_cxx):
        self.chance = random.Random(f"{number} {is_cxx}")
        self.is_cxx = is_cxx
        self.functions = []  # names, of those that are complete
        self.labels = 0
        self.depth = 0
        self.loops = 0  # depth

    # --- Expressions ---

    def value(self):
        """An operand."""
        return self.chance.choice(["a", "b", "c", "a", "b", "c", f"{self.chance.randrange(100)}UL"])

    def expression(self):
        """Of two or three operands."""
        text = f"{self.value()} {self.chance.choice(OPERATORS)} {self.value()}"
        return text if self.chance.random() < 0.6 else f"({text}) {self.chance.choice(OPERATORS)} {self.value()}"

    def condition(self):
        """Mostly one way, or as often as not, signed or not, or two of them."""
        mask = self.chance.choice([1, 3, 7, 15, 255, 1023])
        limit = self.chance.randrange(mask + 1)
        sign = self.chance.choice(["", "(long)"])
        text = f"{sign}(({self.expression()}) >> {self.chance.randrange(3)} & {mask}) {self.chance.choice(COMPARISONS)} {limit}"
        if self.chance.random() < 0.2:
            text = f"{text} {self.chance.choice(['&&', '||'])} {self.condition()}"
        return text

    def label(self):
        """A new name."""
        self.labels += 1
        return f"l{self.labels}"

    # --- Statements ---

    def block(self, count=None):
        """Some statements."""
        count = count or self.chance.randrange(1, 4)
        self.depth += 1
        text = "".join(self.statement() for _ in range(count))
        self.depth -= 1
        return text

    def statement(self):
        """One statement, of all kinds; only simple ones deep inside."""
        kinds = [self.assign, self.assign, self.call, self.store]
        if self.depth < 4:
            kinds += [self.branch, self.branch, self.branch, self.loop, self.switch, self.sparse_switch, self.pointer_call,
                      self.copy, self.rare, self.forward, self.computed, self.early, self.jump_out, self.guarded]
        return self.chance.choice(kinds)()

    def assign(self):
        """To a local variable."""
        return f"{self.chance.choice('abc')} = {self.expression()};\n"

    def store(self):
        """What the compiler must keep."""
        return f"sink += {self.expression()}; room[{self.value()} & 4095] ^= (unsigned char){self.value()};\n"

    def branch(self):
        """With an else part or without."""
        text = f"if ({self.condition()}) {{\n{self.block()}}}"
        return text + (f" else {{\n{self.block()}}}\n" if self.chance.random() < 0.5 else "\n")

    def loop(self):
        """Of few rounds."""
        if self.loops >= 2:
            return self.branch()
        self.loops += 1
        name = f"i{self.loops}"
        bound = self.chance.choice([f"{self.chance.randrange(2, 9)}", "(a & 7)", "(b & 3) + 1"])
        leave = f"if ({self.condition()}) {self.chance.choice(['break', 'continue'])};\n" if self.chance.random() < 0.4 else ""
        text = f"for (word {name} = 0; {name} < {bound}; {name}++) {{\n{self.block(2)}{leave}{self.block(1)}c += {name};\n}}\n"
        self.loops -= 1
        return text

    def cases(self, values, selector):
        """A switch."""
        text = f"switch ({selector}) {{\n"
        for value in values:
            text += f"case {value}:\n{self.block(1)}" + ("break;\n" if self.chance.random() < 0.8 else "/* falls */\n")
        return text + f"default:\n{self.block(1)}break;\n}}\n"

    def switch(self):
        """A jump table."""
        count = self.chance.randrange(5, 12)
        return self.cases(range(count), f"({self.expression()}) % {count + self.chance.randrange(3)}")

    def sparse_switch(self):
        """A tree of comparisons."""
        values = sorted(self.chance.sample(range(1000), self.chance.randrange(3, 7)))
        return self.cases(values, f"({self.expression()}) % 1000")

    def call(self):
        """Direct."""
        if not self.functions:
            return self.assign()
        return f"{self.chance.choice('abc')} += {self.chance.choice(self.functions)}({self.value()}, {self.expression()});\n"

    def pointer_call(self):
        """Of one of a few functions, one of them more often."""
        if len(self.functions) < 2:
            return self.store()
        names = [self.chance.choice(self.functions) for _ in range(self.chance.choice([1, 2, 4]))]
        table = self.label()
        return (f"{{ static const function volatile {table}[] = {{{', '.join(names)}}};\n"
                f"c ^= {table}[({self.expression()}) % {self.chance.choice([1, 7, 7])} % {len(names)}]({self.value()}, c); }}\n")

    def copy(self):
        """Memory, of a known size or of one that is not."""
        size = self.chance.choice(["8", "24", "100", "1000", "(a & 63)", "(b & 1023)"])
        source = self.chance.choice(["memcpy(room + 2048, room,", "memset(room + 1024, (int)c,"])
        return f"{source} {size});\n"

    def rare(self):
        """A half that hardly ever runs."""
        test = self.chance.choice([f"(({self.expression()}) & 1023) == {self.chance.randrange(1024)}", "fuel == 77"])
        return f"if (__builtin_expect({test}, 0)) {{\n{self.block(3)}}}\n"

    def forward(self):
        """A goto."""
        label = self.label()
        return f"if ({self.condition()}) goto {label};\n{self.block()}{label}:;\n"

    def computed(self):
        """A computed goto. clang refuses one that could lead into a try or out of it."""
        if self.is_cxx:
            return self.switch()
        labels = [self.label() for _ in range(self.chance.randrange(2, 6))]
        end, table = self.label(), self.label()
        text = f"{{ static void *const {table}[] = {{{', '.join('&&' + l for l in labels)}}};\n"
        text += f"goto *{table}[({self.expression()}) % {len(labels)}];\n"
        for label in labels:
            text += f"{label}:\n{self.block(1)}" + (f"goto {end};\n" if self.chance.random() < 0.8 else "")
        return text + f"{end}:; }}\n"

    def early(self):
        """A return in the middle, which may be a tail call."""
        return f"if ({self.condition()}) return {self.result()};\n"

    def result(self):
        """What a function returns."""
        if self.functions and self.chance.random() < 0.5:
            return f"{self.chance.choice(self.functions)}({self.value()}, {self.value()})"
        return self.expression()

    def jump_out(self):
        """setjmp."""
        if not self.functions or self.is_cxx or self.loops or self.chance.random() < 0.7:
            return self.branch()
        return (f"{{ volatile word kept = a; if (setjmp(place) == 0) {{ leave({self.expression()}); sink++; }}\n"
                "else { sink += kept; } }\n")

    def guarded(self):
        """try and catch."""
        if not self.is_cxx:
            return self.branch()
        thrown = self.chance.choice(["int", "word"])
        return (f"try {{\n{self.block(1)}throw_some({self.expression()}, {self.chance.choice([15, 63, 255])});\n{self.block(1)}}}\n"
                f"catch ({thrown} e) {{\nc += (word)e;\n{self.block(1)}}}\n" +
                (f"catch (...) {{\n{self.block(1)}}}\n"))

    # --- Functions ---

    def body(self, name, size):
        """The text between the braces."""
        again = f"if (b > 3) c += {name}(a / 2, b / 2);\n" if self.chance.random() < 0.15 else ""
        return f"word c = a ^ b;\nif (fuel-- < 0) return c;\n{self.block(size)}{again}return {self.result()};\n"

    def one(self, number):
        """A function."""
        name = f"f{number}"
        traits = self.chance.choice(["static ", "", "static __attribute__((noinline)) ", "__attribute__((noinline)) "])
        if self.chance.random() < 0.1:
            traits += "__attribute__((cold)) "
        text = f"{traits}word {name}(word a, word b) {{\n{self.body(name, self.chance.randrange(1, 6))}}}\n"
        self.functions.append(name)
        return text

    def twins(self, number):
        """Functions of the same code."""
        body = f"word c = a * {self.chance.randrange(3, 9)} + b;\nsink += c;\nif (c & 1) sink ^= a;\nreturn c;\n"
        names = [f"twin{number}_{i}" for i in range(self.chance.randrange(2, 4))]
        self.functions += names
        return "".join(f"__attribute__((noinline)) word {n}(word a, word b) {{\n{body}}}\n" for n in names)

    def classes(self, number):
        """Virtual calls."""
        names = [f"K{number}_{i}" for i in range(self.chance.randrange(2, 5))]
        text = f"struct B{number} {{ virtual word run(word a, word b) = 0; }};\n"
        for name in names:
            saved, self.depth = self.depth, 2
            text += (f"struct {name} : B{number} {{ word run(word a, word b) override {{\n"
                     f"word c = a;\nif (fuel-- < 0) return c;\n{self.block(2)}return c + b; }} }};\n")
            self.depth = saved
        function = f"virtual{number}"
        objects = "".join(f"static {n} o{n};\n" for n in names)
        text += (f"{objects}static B{number} *volatile all{number}[] = {{{', '.join(f'&o{n}' for n in names)}}};\n"
                 f"__attribute__((noinline)) word {function}(word a, word b) {{\n"
                 f"return all{number}[a % {self.chance.choice([1, 9, 9])} % {len(names)}]->run(b, a); }}\n")
        self.functions.append(function)
        return text

    def text(self):
        """The whole program."""
        text = HEAD
        if self.is_cxx:
            text += ("__attribute__((noinline)) static void throw_some(word a, word mask) {\n"
                     "if ((a & mask) == 1) throw 3;\nif ((a & mask) == 2) throw a;\nsink += a; }\n")
        else:
            text += ("static jmp_buf place;\n__attribute__((noinline)) static void leave(word a) {\n"
                     "if (a & 3) longjmp(place, 1);\nsink += a; }\n")
        for i in range(self.chance.randrange(6, 16)):
            kind = self.chance.random()
            if kind < 0.12:
                text += self.twins(i)
            elif kind < 0.25 and self.is_cxx:
                text += self.classes(i)
            else:
                text += self.one(i)
        calls = "".join(f"s += {n}(i, s + {k});\n" for k, n in enumerate(self.functions[-3:]))
        return (f"{text}int main(int count, char **arguments) {{\nword s = 0;\n"
                "long n = count > 1 ? atol(arguments[1]) : 100;\n"
                f"for (long i = 0; i < n; i++) {{\nfuel = 500;\n{calls}}}\n"
                'printf("%lu %lu\\n", s, sink);\nreturn 0;\n}\n')


class Odd(Program):
    """A program of what hardly any compiler makes by itself: for C alone. asm goto, interpreters with a jump behind each
    operation, variable arguments, functions of the assembler with entries in the middle."""

    JUMPS = {"x86-64": "test %0, %0\\n\\tjnz %l[{}]", "aarch64": "cbnz %0, %l[{}]"}
    # The first entry adds what the second one does not; the third is behind a jump over it.
    ENTRIES = {
        "x86-64": ["xor $1, %rdi", "add $3, %rsi", "lea (%rdi,%rsi,2), %rax", "test $4, %al", "jz 1f", "xor %rsi, %rax", "jmp 1f",
                   "mov %rsi, %rax", "1: ret"],
        "aarch64": ["eor x0, x0, #1", "add x1, x1, #3", "add x0, x0, x1, lsl #1", "tbz x0, #2, 1f", "eor x0, x0, x1", "b 1f", "mov x0, x1",
                    "1: ret"]}

    def __init__(self, number, target):
        super().__init__(number, False)
        self.target = target

    def statement(self):
        """Also what is odd."""
        if self.depth < 4 and self.chance.random() < 0.2:
            return self.chance.choice([self.assembled, self.assembled, self.many])()
        return super().statement()

    def assembled(self):
        """asm goto."""
        label, end = self.label(), self.label()
        # BOLT drops a test whose both ways lead to one place.
        rest = f"sink += {label[1:]};\n"
        rest += f"{self.block(1)}goto {end};\n" if self.chance.random() < 0.5 else self.block(1)
        return (f'asm goto("{self.JUMPS[self.target].format(label)}" : : "r"({self.expression()} & {self.chance.choice([1, 3, 63])}) '
                f': "cc" : {label});\n{rest}{label}:\n{self.block(1)}{end}:;\n')

    def many(self):
        """A call with variable arguments."""
        count = self.chance.randrange(1, 5)
        return f"c += many{self.chance.randrange(2)}({count}{', (word)c' * count});\n"

    def interpreter(self, number):
        """One operation leads to the next."""
        count = self.chance.randrange(3, 9)
        code = ", ".join(str(self.chance.randrange(count)) for _ in range(16))
        saved, self.depth = self.depth, 2
        then = f"if (fuel-- < 0 || pc > {self.chance.randrange(8, 40)}) return c;\ngoto *table[code[pc++ & 15]];\n"
        text = (f"__attribute__((noinline)) word run{number}(word a, word b) {{\nstatic const unsigned char code[16] = {{{code}}};\n"
                f"static void *const table[] = {{{', '.join(f'&&op{i}' for i in range(count))}}};\nword c = b, pc = a & 15;\n{then}")
        text += "".join(f"op{i}:\n{self.block(1)}{then}" for i in range(count)) + "}\n"
        self.depth = saved
        self.functions.append(f"run{number}")
        return text

    def entries(self, number):
        """A function of the assembler, whose other entries are functions, labels or local ones."""
        lines, names = list(self.ENTRIES[self.target]), [f"entry{number}_{i}" for i in range(3)]
        kind = self.chance.choice([".type {0}, %function", ".globl {0}", ".hidden {0}"])
        for place, name in ((-2, names[2]), (2, names[1])):
            lines.insert(place, f".globl {name}\\n{kind.format(name)}\\n{name}:")
        text = "\\n".join([".text", f".globl {names[0]}", f".type {names[0]}, %function", f"{names[0]}:", *lines,
                           f".size {names[0]}, .-{names[0]}"])
        self.functions += names
        return f'asm("{text}");\n' + "".join(f"word {name}(word a, word b);\n" for name in names)

    def one(self, number):
        """Also odd functions."""
        kind = self.chance.random()
        if kind < 0.3:
            return self.interpreter(number) if kind < 0.15 else self.entries(number)
        return super().one(number)

    def text(self):
        """The whole program."""
        many = "".join(f"__attribute__((noinline)) static word many{i}(int count, ...) {{\nva_list list;\nva_start(list, count);\n"
                       f"word s = {i};\nfor (int i = 0; i < count; i++) s = s * 3 + va_arg(list, word);\nva_end(list);\n"
                       "return s;\n}\n" for i in range(2))
        return super().text().replace(HEAD, f"#include <stdarg.h>\n{HEAD}{many}", 1)


class Throwing:
    """A program where exceptions come to as many landing pads as possible: for C++ alone."""

    HEAD = """#include <stdio.h>
#include <stdlib.h>
struct Base { int value; };
struct Derived : Base { Derived(int v) { value = v; } };
static unsigned long sink;
struct Local { int added; ~Local() { sink += added; } };
"""
    CATCHES = ["catch (Derived &e) { x += e.value; }", "catch (Base &e) { x -= e.value; }", "catch (int e) { x += e; }",
               "catch (...) { x++; }", "catch (int e) { x = e; } catch (Base &) { x += 3; }",
               "catch (...) { x += 2; throw; }"]

    def __init__(self, number):
        self.chance = random.Random(f"{number} throwing")

    def thrower(self, number):
        """A function that sometimes throws."""
        what = self.chance.choice(["Base{a}", "Derived(a)", "a", "1.5"])
        return (f"__attribute__((noinline)) int t{number}(int a) {{\n"
                f"if ((a * {self.chance.randrange(3, 99) | 1} >> 3) % {self.chance.randrange(3, 9)} == 0) throw {what};\n"
                f"return a + {number}; }}\n")

    def block(self, known, depth=0):
        """Calls, local objects and handlers; the functions g0 up to g`known` can be called."""
        text = ""
        for _ in range(self.chance.randrange(1, 4)):
            kind = self.chance.random()
            if kind < 0.5 or depth == 3:
                text += f"x += t{self.chance.randrange(4)}(x + {self.chance.randrange(50)});\n"
            elif kind < 0.6 and known > 0:
                text += f"x ^= g{self.chance.randrange(known)}(x & 63);\n"
            elif kind < 0.75:
                text += f"{{ Local local{{{self.chance.randrange(9)}}};\n{self.block(known, depth + 1)}}}\n"
            else:
                text += f"try {{\n{self.block(known, depth + 1)}}} {self.chance.choice(self.CATCHES)}\n"
        return text

    def text(self):
        """The whole program."""
        text = self.HEAD + "".join(self.thrower(i) for i in range(4))
        for i in range(6):
            text += f"__attribute__((noinline)) int g{i}(int x) {{\n{self.block(i)}return x & 1023; }}\n"
        return (f"{text}int main(int, char **arguments) {{\nint bad = 0;\n"
                "for (int i = 0; i < 5 * atoi(arguments[1]); i++) {\n"
                f"try {{ sink += g5(i) + g{self.chance.randrange(5)}(i * 3 % 101); }} catch (...) {{ bad++; }} }}\n"
                'printf("%lu %d\\n", sink, bad);\nreturn 0;\n}\n')


def program(number, is_cxx):
    """The source of program `number`."""
    return Program(number, is_cxx).text()


if __name__ == "__main__":
    MAKERS = {"c": lambda n: Program(n, False), "c++": lambda n: Program(n, True), "exceptions": Throwing,
              "odd": lambda n: Odd(n, "x86-64")}
    if len(sys.argv) != 3 or sys.argv[1] not in MAKERS:
        sys.exit(f"usage: generate.py {'|'.join(MAKERS)} NUMBER")
    made = MAKERS[sys.argv[1]](int(sys.argv[2]))
    print(made.text(), end="")
