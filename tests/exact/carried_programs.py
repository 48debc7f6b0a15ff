# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of carried.py's pairs: how each is built, what it is given, and what that consists of."""

import random
import re
import subprocess

import judge
import real

MAWK = "./configure CC='{cc}' CFLAGS='{flags}' LDFLAGS='{links}' && make"
XML_WORK = r"""#include "tinyxml2.h"
#include <cstdio>
#include <string>
using namespace tinyxml2;
struct Sum : XMLVisitor {
  long sum = 0;
  bool VisitEnter(const XMLElement& e, const XMLAttribute* a) override {
    for (; a; a = a->Next()) sum += a->IntValue() + e.GetLineNum();
    return true;
  }
  bool Visit(const XMLText& t) override { sum += std::string(t.Value()).size(); return true; }
};
int main() {
  std::string text = "<?xml version=\"1.0\"?><list>";
  for (int i = 0; i < 900; i++)
    text += "<item id=\"" + std::to_string(i * 7919 % 1000) + "\" n=\"&lt;a&gt;\"><!-- c --><name>x &amp; y " +
            std::to_string(i) + "</name><![CDATA[<raw>]]></item>\n";
  text += "</list>";
  for (int round = 0; round < 2; round++) {
    XMLDocument doc;
    doc.Parse(text.c_str());
    for (XMLElement* e = doc.RootElement()->FirstChildElement("item"); e; e = e->NextSiblingElement("item"))
      if (e->IntAttribute("id") % 3 == round % 3) e->SetAttribute("new", round);
    Sum sum;
    doc.Accept(&sum);
    XMLPrinter printer;
    doc.Print(&printer);
    std::printf("%ld %d %d\n", sum.sum, printer.CStrSize(), doc.Parse("<a><b></a>"));
  }
}
"""

# What a compiler compiles, with the headers of g++: 33,800 lines with Debian 12's.
CLANG_WORK = r"""#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>
struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
struct Square : Shape {
  double side;
  explicit Square(double length) : side(length) {}
  double area() const override { return side * side; }
};
int main(int argc, char** argv) {
  std::map<std::string, std::vector<int>> numbers;
  for (int i = 0; i < argc; i++) numbers[argv[i]].push_back(i);
  std::vector<std::unique_ptr<Shape>> shapes;
  for (auto& [name, list] : numbers) {
    std::sort(list.begin(), list.end(), [](int a, int b) { return a > b; });
    shapes.push_back(std::make_unique<Square>(name.size() + list.front()));
  }
  return int(std::accumulate(shapes.begin(), shapes.end(), 0.0,
                             [](double sum, const auto& shape) { return sum + shape->area(); }));
}
"""
CLANG_RUN = ["-triple", "x86_64-pc-linux-gnu", "-O2", "-std=c++17", "-fgnuc-version=4.2.1", "-fcxx-exceptions", "-fexceptions", "-w",
             "-emit-obj", "-o", "work.o", "-x", "c++", "work.cpp"]


def header_options():
    """Where a compiler without a driver finds the headers that g++ finds."""
    told = subprocess.run(["g++", "-E", "-v", "-x", "c++", "/dev/null"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True).stderr
    return [word for folder in re.findall(r"^ (/\S+)$", told, re.M) for word in ("-internal-isystem", folder)]


# Read a file of the name that is the first argument; for the works below.
READ = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static size_t length;
static char *read_all(const char *name) {
  FILE *f = fopen(name, "rb");
  char *text = (char *)malloc(1 << 22);
  length = fread(text, 1, (1 << 22) - 1, f);
  text[length] = 0;
  fclose(f);
  return text;
}
"""
EXPAT_WORK = READ + r"""
#include <expat.h>
struct sums { long depth, names, text, other; };
static void start(void *p, const XML_Char *name, const XML_Char **a) {
  struct sums *s = p;
  s->depth++;
  s->names += strlen(name);
  for (; *a; a += 2) s->names += strlen(a[0]) + 3 * strlen(a[1]);
}
static void end(void *p, const XML_Char *name) { ((struct sums *)p)->other += name[0]; }
static void data(void *p, const XML_Char *t, int n) { ((struct sums *)p)->text += n + t[0]; }
static void comment(void *p, const XML_Char *t) { ((struct sums *)p)->other += strlen(t); }
int main(int argc, char **argv) {
  char *text = read_all(argv[1]);
  for (int round = 0; round < 3; round++) {
    struct sums s = {0, 0, 0, 0};
    XML_Parser p = round == 2 ? XML_ParserCreateNS(NULL, 58) : XML_ParserCreate(NULL);
    XML_SetHashSalt(p, 17);
    XML_SetUserData(p, &s);
    XML_SetElementHandler(p, start, end);
    XML_SetCharacterDataHandler(p, data);
    XML_SetCommentHandler(p, comment);
    size_t step = round == 1 ? 1000 : length;
    for (size_t at = 0; at < length; at += step)
      if (XML_Parse(p, text + at, (int)(length - at < step ? length - at : step), at + step >= length) != XML_STATUS_OK)
        printf("%s\n", XML_ErrorString(XML_GetErrorCode(p)));
    printf("%ld %ld %ld %ld\n", s.depth, s.names, s.text, s.other);
    XML_ParserFree(p);
  }
}
"""
CJSON_WORK = READ + r"""
#include "cJSON.h"
static double sum(const cJSON *item) {
  double n = item->valuedouble + (item->string ? strlen(item->string) : 0) + (item->valuestring ? strlen(item->valuestring) : 0);
  for (const cJSON *child = item->child; child; child = child->next) n += sum(child);
  return n;
}
int main(int argc, char **argv) {
  char *text = read_all(argv[1]);
  for (int round = 0; round < 2; round++) {
    cJSON *all = cJSON_Parse(text), *copy = cJSON_Duplicate(all, 1);
    char *plain = round ? cJSON_Print(copy) : cJSON_PrintUnformatted(copy);
    cJSON *item = cJSON_GetArrayItem(all, 7 + round);
    cJSON_AddNumberToObject(item, "new", round);
    printf("%.3f %zu %d\n", sum(all), strlen(plain), cJSON_Compare(all, copy, 1));
    free(plain);
    cJSON_Delete(all);
    cJSON_Delete(copy);
  }
}
"""
JANSSON_WORK = READ + r"""
#include <jansson.h>
static double sum(json_t *item) {
  double n = json_number_value(item) + (json_is_string(item) ? json_string_length(item) : 0);
  const char *key;
  json_t *value;
  size_t i;
  if (json_is_object(item)) json_object_foreach(item, key, value) n += strlen(key) + sum(value);
  if (json_is_array(item)) json_array_foreach(item, i, value) n += sum(value);
  return n;
}
int main(int argc, char **argv) {
  char *text = read_all(argv[1]);
  json_object_seed(17);
  for (int round = 0; round < 2; round++) {
    json_error_t error;
    json_t *all = json_loads(text, 0, &error), *copy = json_deep_copy(all);
    char *plain = json_dumps(copy, round ? JSON_INDENT(2) | JSON_SORT_KEYS : JSON_COMPACT);
    printf("%.3f %zu %d\n", sum(all), strlen(plain), json_equal(all, copy));
    free(plain);
    json_decref(all);
    json_decref(copy);
  }
}
"""
YAJL_WORK = READ + r"""
#include <yajl/yajl_gen.h>
#include <yajl/yajl_parse.h>
static yajl_gen g;
static long n;
static int null_(void *c) { return yajl_gen_null(g) == 0; }
static int bool_(void *c, int v) { return yajl_gen_bool(g, v) == 0; }
static int number_(void *c, const char *s, size_t l) { n += l; return yajl_gen_number(g, s, l) == 0; }
static int string_(void *c, const unsigned char *s, size_t l) { n += s[0]; return yajl_gen_string(g, s, l) == 0; }
static int map_(void *c) { return yajl_gen_map_open(g) == 0; }
static int end_map_(void *c) { return yajl_gen_map_close(g) == 0; }
static int array_(void *c) { return yajl_gen_array_open(g) == 0; }
static int end_array_(void *c) { return yajl_gen_array_close(g) == 0; }
int main(int argc, char **argv) {
  static yajl_callbacks calls = {null_, bool_, NULL, NULL, number_, string_, map_, string_, end_map_, array_, end_array_};
  char *text = read_all(argv[1]);
  for (int round = 0; round < 2; round++) {
    const unsigned char *out;
    size_t size;
    g = yajl_gen_alloc(NULL);
    yajl_gen_config(g, yajl_gen_beautify, round);
    yajl_handle h = yajl_alloc(&calls, NULL, NULL);
    int status = 0;
    for (size_t at = 0; at < length && status == 0; at += 5000)
      status = yajl_parse(h, (unsigned char *)text + at, length - at < 5000 ? length - at : 5000);
    status += yajl_complete_parse(h);
    yajl_gen_get_buf(g, &out, &size);
    printf("%d %ld %zu\n", status, n, size);
    yajl_free(h);
    yajl_gen_free(g);
  }
}
"""
YAML_WORK = READ + r"""
#include <yaml.h>
int main(int argc, char **argv) {
  char *text = read_all(argv[1]);
  static unsigned char out[1 << 22];
  size_t size;
  yaml_parser_t parser;
  yaml_emitter_t emitter;
  yaml_event_t event;
  yaml_parser_initialize(&parser);
  yaml_emitter_initialize(&emitter);
  yaml_parser_set_input_string(&parser, (unsigned char *)text, length);
  yaml_emitter_set_output_string(&emitter, out, sizeof out, &size);
  for (int is_end = 0; !is_end;) {
    if (!yaml_parser_parse(&parser, &event)) { printf("%s\n", parser.problem); return 1; }
    is_end = event.type == YAML_STREAM_END_EVENT;
    if (!yaml_emitter_emit(&emitter, &event)) { printf("%s\n", emitter.problem); return 1; }
  }
  printf("%zu\n", size);
}
"""
PUGIXML_WORK = r"""#include "pugixml.hpp"
#include <cstdio>
#include <sstream>
int main(int, char **argv) {
  for (int round = 0; round < 3; round++) {
    pugi::xml_document doc;
    pugi::xml_parse_result result = doc.load_file(argv[1], round ? pugi::parse_full : pugi::parse_default);
    long sum = 0;
    for (pugi::xml_node item : doc.child("list").children("item")) sum += item.attribute("id").as_int() + item.child("name").text().get()[0];
    for (pugi::xpath_node found : doc.select_nodes("//item[@id > 500 and position() mod 3 = 1]/name")) sum += found.node().child_value()[1];
    doc.child("list").append_child("last").append_attribute("n") = round;
    std::ostringstream out;
    doc.save(out, "  ", round == 1 ? pugi::format_raw : pugi::format_default);
    std::printf("%s %ld %zu\n", result.description(), sum, out.str().size());
  }
}
"""
BOX2D_WORK = r"""#include <box2d/box2d.h>
#include <cstdio>
int main() {
  b2World world(b2Vec2(0, -10));
  b2BodyDef ground;
  b2PolygonShape box;
  b2CircleShape ball;
  box.SetAsBox(50, 1);
  world.CreateBody(&ground)->CreateFixture(&box, 0);
  b2Body* last = nullptr;
  for (int i = 0; i < 60; i++) {
    b2BodyDef def;
    def.type = b2_dynamicBody;
    def.position.Set(i % 8 * 1.1f, 2 + i / 8 * 1.3f);
    def.bullet = i % 9 == 0;
    b2Body* body = world.CreateBody(&def);
    box.SetAsBox(0.4f, 0.5f);
    ball.m_radius = 0.45f;
    if (i % 3) body->CreateFixture(&box, 1); else body->CreateFixture(&ball, 2);
    if (i % 5 == 0 && last) {
      b2DistanceJointDef joint;
      joint.Initialize(last, body, last->GetPosition(), body->GetPosition());
      world.CreateJoint(&joint);
    }
    last = body;
  }
  for (int step = 0; step < 40; step++) world.Step(1 / 60.0f, 6, 2);
  std::printf("%.3f %.3f %d\n", last->GetPosition().x, last->GetPosition().y, world.GetContactCount());
}
"""
AWK_WORK = r"""{ for (i = 1; i <= NF; i++) { word = tolower($i); gsub(/[^a-z]/, "", word); if (word != "") seen[word]++ } }
/return|if *\(/ { branches += length($0) % 7; n += split($0, parts, /[ (,)]+/) }
{ line = $0; while (match(line, /[a-z]+_[a-z]+/)) { long = long > RLENGTH ? long : RLENGTH; line = substr(line, RSTART + RLENGTH) } }
END { for (word in seen) sum += seen[word] * length(word); printf "%d %d %d %s\n", n, sum, long, sprintf("%05.2f", branches / 3) }
"""
JS_WORK = r"""function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var out = fib(14), i, words = [], o = {};
for (i = 0; i < 400; i++) words.push("w" + (i * 7919 % 1009).toString(36));
words.sort(); words.sort(function (a, b) { return a.length - b.length || (a < b ? 1 : -1); });
for (i = 0; i < words.length; i++) o[words[i]] = (o[words[i]] || 0) + i;
for (var key in o) out += o[key] % 7;
var text = words.join(","), m = text.match(/[a-f]+[0-9]*/g);
out += m.length + text.replace(/w(.)/g, function (all, c) { return "<" + c + ">"; }).length;
function Shape(n) { this.n = n; } Shape.prototype.area = function () { return this.n * this.n; };
function Round(n) { Shape.call(this, n); } Round.prototype = new Shape(0); Round.prototype.area = function () { return this.n * 3.14; };
for (i = 0; i < 200; i++) out += (i % 3 ? new Shape(i) : new Round(i)).area();
for (i = 0; i < 30; i++) try { if (i % 4 === 0) throw new Error("e" + i); out += i; } catch (e) { out += e.message.length; } finally { out -= 1; }
var json = JSON.stringify({ a: words.slice(0, 50), b: { c: [1, 2.5, null, true] } });
out += JSON.parse(json).a.length + json.length;
switch (out % 5 | 0) { case 0: out += 1; break; case 3: out += 2; default: out += 3; }
print(out.toFixed(2));
"""
TCL_WORK = r"""proc fib n { if {$n < 2} { return $n }; expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
set out [fib 12]
for {set i 0} {$i < 200} {incr i} { lappend words [format "w%03d" [expr {$i * 7919 % 1009}]]; dict set all k$i [expr {$i ** 2}] }
foreach {a b} [lsort $words] { if {[string match "w?3*" $a]} { incr out } elseif {[regexp {w([0-9])5} $b x y]} { incr out $y } else { append text "$a,$b;" } }
dict for {k v} $all { switch -glob $k { *7 { incr out $v } k1* { incr out -1 } default { set last $v } } }
foreach part [split $text ";"] { set n([lindex [split $part ,] 0]) [string length $part] }
catch { error "no [array size n]" } message
puts "$out $last $message [string toupper [string range $text 10 20]] [regsub -all {w0} $text {<&>}]"
"""
M4_WORK = r"""define(`loop', `ifelse(eval($1 > $2), 1, `', `$3($1)loop(incr($1), $2, `$3')')')
define(`one', `define(`v_$1', eval($1 * 7919 % 1009))ifelse(eval($1 % 3), 0, `translit(`item$1', `a-z', `A-Z')', `substr(`abcdefghijkl', eval($1 % 7), 4)')
')
define(`fib', `ifelse(eval($1 < 2), 1, $1, `eval(fib(decr($1)) + fib(eval($1 - 2)))')')
loop(1, 250, `one')
fib(9) len(patsubst(`the quick brown fox', `\(\w+\) ', `<\1>')) index(`quick brown', `brown') format(`%05d|%-8s|%x', 42, `left', 255)
define(`rev', `ifelse(len(`$1'), 0, `', `rev(substr(`$1', 1))`'substr(`$1', 0, 1)')')rev(`some text to be turned')
pushdef(`x', 1)pushdef(`x', 2)x`'popdef(`x')x divert(1)later divert(0)now undivert(1)
"""
BC_WORK = r"""scale = 30
define f(n) { if (n < 2) return (n); return (f(n - 1) + f(n - 2)); }
define e(x) { auto a, b, c, n; a = 1; b = 1; for (n = 1; 1; n++) { a = a * x / n; if (a == 0) return (b); b = b + a; } }
for (i = 1; i < 40; i++) { t[i] = i * 7919 % 1009; s += sqrt(t[i]) * (i ^ 3) / 7; if (i % 5 == 0) print i, " ", s, "\n" }
f(11)
e(1.5)
obase = 16
2 ^ 300
"""


# Status 0, whatever the program says: solvers tell by it what they found.
LEAVE = "#include <stdio.h>\n#include <unistd.h>\n__attribute__((destructor)) static void leave(void) { fflush(0); _exit(0); }\n"


def xml_text(count):
    return "<?xml version=\"1.0\"?>\n<!DOCTYPE list [<!ENTITY e \"entity\"><!ELEMENT list ANY>]>\n<list xmlns:n=\"urn:n\">" + "".join(
        f"<item id=\"{i * 7919 % 1000}\" n:kind='k&lt;{i % 7}'><!-- c{i} --><name>x &amp; y {i} &#65;&e;</name>"
        f"<n:b>täxt {'z' * (i % 30)}</n:b><empty/><![CDATA[<raw {i}>]]><?pi {i}?></item>\n" for i in range(count)) + "</list>\n"


def json_text(count):
    return "[" + ",\n".join(
        f'{{"id": {i * 7919 % 1000}, "name": "item \\"{i}\\"\\n\\u00e4", "size": {i / 7:.4f}e{i % 5}, "tags": ["a{i}", true, false, null],'
        f' "in": {{"k{i % 9}": -{i}, "x": [[], {{}}, "{"t" * (i % 40)}"]}}}}' for i in range(count)) + "]\n"


def cnf_text(variables, clauses):
    made = random.Random(5)
    lines = [" ".join(str(v if made.random() < 0.5 else -v) for v in made.sample(range(1, variables + 1), 3)) + " 0" for _ in range(clauses)]
    return f"p cnf {variables} {clauses}\n" + "\n".join(lines) + "\n"


def asm_text(count):
    lines = ["%define SIZE 16", "%macro twice 2", " add %1, %2", " add %1, %2", "%endmacro", "bits 64", "section .text", "global start", "start:"]
    for i in range(count):
        lines += [f"l{i}: mov rax, [rbx + rcx*4 + {i * 7}]", f" lea rdi, [rel d{i % 50}]", f" twice r{8 + i % 8}, SIZE * {i % 5}",
                  f" cmp byte [rsi + {i % 200}], '{chr(97 + i % 26)}'", f" j{['e', 'ne', 'a', 'l'][i % 4]} l{i * 7 % count}",
                  f" vaddps ymm{i % 16}, ymm1, [rax]", f"%if {i} % 3", f" call l{i // 2}", "%else", f" imul edx, ecx, {i + 1}", "%endif",
                  f".in{i}: movzx eax, word [rsp + {i % 60}]", f" test al, {i % 255} | 1", f" jmp .in{i}"]
    return "\n".join([*lines, "section .data", *(f"d{i}: dq l{i}, {i}.5, start + {i}" for i in range(50))]) + "\n"


def html_text(count):
    return "<html><head><title>a page</title><style>p { x: y }</style><body>" + "".join(
        f"<h{1 + i % 4}>head {i}<p class=c{i % 5} id='i{i}'>some <b>bold <i>both</b> text</i> &amp; &copy; &#{65 + i % 26}; <a href=x?a={i}&b=2>link</a>"
        f"<table><tr><td>{i}<td width=5>{'w ' * (i % 30)}</table><ul><li>one<li>two {i}</ul><img src=a.png><br>\n" for i in range(count)) + "</body>"


def patterns_text():
    patterns = [r"/(\w+)\s*\(([^()]*|\([^()]*\))*\)/g", r"/\b[A-Z_]{4,}\b/g", r"/(?i)return\s+(?!0)(\S+);/g", r"/^#\s*(if|else|endif)/mg",
                r"/(?<=\*)\w+|[0-9a-f]+(?=u)/g", r'/"(?:[^"\\]|\\.)*"/g', r"/(a|b|c)+?d{2,}|x.*?y/sg", r"/(?<n>\w)\k<n>/g", r"/\p{Lu}\p{Ll}+/utf,g"]
    lines = [" ".join(f"{word}_{i % 9}(x, {word}({i}, 0x{i:x}u)); return *{word};" for word in ("abcdd", "Size", "MAX_LEN"))
             + f" \"te\\\"xt {i}\" xx{'q' * (i % 25)}y" for i in range(12)]
    return "\n\n".join("\n".join([pattern, *("    " + line for line in lines)]) for pattern in patterns) + "\n"


def texts():
    """The files that the programs find, besides those of real.py."""
    made = random.Random(3)
    words = sorted({"".join(made.choices("abcdefghilmnoprstu", k=made.randrange(3, 9))) for _ in range(120)})
    return {
        "plain.awk": AWK_WORK,
        "work.cpp": CLANG_WORK,
        "work.js": JS_WORK,
        "work.tcl": TCL_WORK,
        "work.m4": M4_WORK,
        "work.bc": BC_WORK,
        "list.xml": xml_text(250),
        "list.json": json_text(250),
        "work.cnf": cnf_text(120, 505),
        "work.asm": asm_text(60),
        "page.html": html_text(60),
        "patterns": patterns_text(),
        "keywords": "\n".join(words) + "\n",
    }


# What make would make again by autoconf and automake is newer than its sources.
TOUCH = "touch aclocal.m4; find . -name Makefile.in | xargs touch; touch configure; find . -name 'config.h*in' | xargs touch; "


def configured(program, options=""):
    return f"{TOUCH}./configure CC='{{cc}}' CFLAGS='{{flags}}' LDFLAGS='{{links}}' {options} && make MAKEINFO=true {program}"


CXX_CONFIGURED = "./configure CXX='{cc}' CXXFLAGS='{flags}' LDFLAGS='{links}'"
EXPAT = "cd expat && touch lib/expat_config.h && {cc} {flags} -DXML_POOR_ENTROPY -DXML_DTD -DXML_NS -DXML_GE=1 -DXML_CONTEXT_BYTES=1024 " \
        "-DBYTEORDER=1234 -DXML_DEV_URANDOM -Ilib $(ls lib/xmlparse.c lib/xmlrole.c lib/xmltok.c lib/random_dev_urandom.c 2>/dev/null) ../work.c {links} -o ../work"
JANSSON = "mkdir -p made && cd made && cmake -DCMAKE_BUILD_TYPE=None -DJANSSON_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON .. && " \
          "{cc} {flags} -DHAVE_CONFIG_H -Iprivate_include -Iinclude -I../src ../src/*.c ../work.c {links} -lm -o ../work"
YAJL = "mkdir -p yajl && cp src/api/*.h yajl/ && : >yajl/yajl_version.h && sed -i 1i\\\\#define\\ YAJL_VERSION\\ 20100 src/yajl_version.c && " \
       "{cc} {flags} -I. src/*.c work.c {links} -lm -o work"
ZLIB = "{cc} {flags} -D_LARGEFILE64_SOURCE=1 -DHAVE_HIDDEN -DHAVE_UNISTD_H -I. $(ls *.c) test/minigzip.c {links} -o minigzip"
TIDY = "sed -i 's/return [12];/return 0;/' console/tidy.c && mkdir -p made && cd made && cmake -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER='{cc}' -DCMAKE_C_FLAGS='{flags}' -DCMAKE_EXE_LINKER_FLAGS='{links}' " \
       "-DBUILD_SHARED_LIB=OFF .. && make"
Program = real.Program
# As real.py has them, but build is to be filled in.
KINDS = {
    **{name: real.PROGRAMS[name]._replace(build=build) for name, build in (
        ("zstd", real.ZSTD), ("lua", real.LUA), ("gawk", real.GAWK), ("xz", real.XZ), ("yaml-cpp", real.YAML), ("rust", real.RUST))},
    "sqlite": real.PROGRAMS["sqlite"]._replace(package="better-sqlite3", build=real.SQLITE),
    "mawk": Program("mawk", MAWK, "mawk", ["-f", "plain.awk", "text"]),
    "tinyxml2": Program("tinyxml2", real.with_work(XML_WORK, "work.cpp", "{cc} {flags} tinyxml2.cpp work.cpp {links} -o work"), "work", []),
    "bzip2": Program("bzip2", "rm -f bzip2recover.c dlltest.c mk251.c spewG.c unzcrash.c; {cc} {flags} *.c {links} -o bzip2", "bzip2",
                     ["-k", "-f", "text"]),
    "lz4": Program("lz4", "{cc} {flags} -DLZ4IO_MULTITHREAD=0 -Ilib lib/*.c programs/*.c {links} -o programs/lz4", "programs/lz4",
                   ["-6", "-f", "-q", "text", "out"]),
    "clang": Program("", f"sh {judge.HERE.parent}/bench/large/make.sh . {{cc}}", "cc", CLANG_RUN + header_options()),
    "expat": Program("expat", real.with_work(EXPAT_WORK, "work.c", EXPAT), "work", ["list.xml"]),
    "cjson": Program("cjson", real.with_work(CJSON_WORK, "work.c", "{cc} {flags} cJSON.c work.c {links} -lm -o work"), "work", ["list.json"]),
    "jansson": Program("jansson", real.with_work(JANSSON_WORK, "work.c", JANSSON), "work", ["list.json"]),
    "yajl": Program("yajl", real.with_work(YAJL_WORK, "work.c", YAJL), "work", ["list.json"]),
    "libyaml": Program("libyaml", real.with_work(YAML_WORK, "work.c", "{cc} {flags} -DYAML_VERSION_STRING='\"0\"' -DYAML_VERSION_MAJOR=0 "
                       "-DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -Iinclude src/*.c work.c {links} -o work"), "work", ["work.yaml"]),
    "pugixml": Program("pugixml", real.with_work(PUGIXML_WORK, "work.cpp", "{cc} {flags} -Isrc src/pugixml.cpp work.cpp {links} -o work"), "work",
                       ["list.xml"]),
    "box2d": Program("box2d", real.with_work(BOX2D_WORK, "work.cpp", "{cc} {flags} -Iinclude -Isrc $(find src -name '*.cpp') work.cpp {links} -o work"),
                     "work", []),
    "brotli": Program("brotli", "{cc} {flags} -Ic/include c/common/*.c c/dec/*.c c/enc/*.c c/tools/brotli.c {links} -lm -o brotli", "brotli",
                      ["-q", "5", "-f", "text", "-o", "out"]),
    "zlib": Program("zlib", ZLIB, "minigzip", ["-6", "text"]),
    "gzip": Program("gzip", configured(""), "gzip", ["-k", "-f", "text"]),
    "lzip": Program("lzip", CXX_CONFIGURED + " && make", "lzip", ["-k", "-f", "-4", "text"]),
    "gperf": Program("gperf", CXX_CONFIGURED + " CC=gcc && make", "src/gperf", ["-D", "-m", "3", "keywords"]),
    "nasm": Program("nasm", configured("nasm"), "nasm", ["-f", "elf64", "-O9", "work.asm", "-o", "out.o"]),
    "m4": Program("m4", configured("", "--disable-nls"), "src/m4", ["work.m4"]),
    "bc": Program("bc", configured(""), "bc/bc", ["-q", "work.bc"]),
    "mujs": Program("mujs", "{cc} {flags} main.c one.c {links} -lm -o mujs", "mujs", ["work.js"]),
    "duktape": Program("duktape", "{cc} {flags} -Isrc -Iextras/print-alert -Iextras/console -Iexamples/cmdline -DDUK_CMDLINE_PRINTALERT_SUPPORT src/duktape.c "
                       "extras/print-alert/duk_print_alert.c examples/cmdline/duk_cmdline.c {links} -lm -o duk", "duk", ["work.js"]),
    "jimtcl": Program("jimtcl", "./configure CC='{cc}' CFLAGS='{flags}' LDFLAGS='{links}' --disable-docs && make", "jimsh", ["work.tcl"]),
    "tidy": Program("tidy-html5", TIDY, "made/tidy", ["-q", "-i", "--show-warnings", "no", "-o", "out", "page.html"]),
    "pcre2": Program("pcre2", configured("pcre2test", "--disable-shared --enable-static --enable-jit=no"), "pcre2test", ["patterns", "out"]),
    "cadical": Program("cadical", real.with_work(LEAVE, "leave", "cat leave >>src/cadical.cpp && CXX='{cc}' CXXFLAGS='{flags} {links}' ./configure && make"), "build/cadical", ["-q", "work.cnf"]),
    "picosat": Program("picosat", real.with_work(LEAVE, "leave.c", "./configure.sh && sh mkconfig.sh >config.h && {cc} {flags} -DNDEBUG app.c main.c picosat.c version.c leave.c {links} -o picosat"), "picosat", ["work.cnf"]),
}
