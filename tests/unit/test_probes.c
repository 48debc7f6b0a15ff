/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * probes/: sections of clang 22 and of BOLT 22, byte by byte, and damaged ones. GUIDs are those
 * that the compiler wrote.
 */
#include "bat_probes.h"
#include "elf_image.h"
#include "kept.h"
#include "support/md5.h"
#include "unit_test.h"

#define THIRD 0xcbff5815f58b5cddu /* "third", at 0x201840 in the program */
#define G2 0xab863d858804c8e1u    /* "g2", an alias of "g3" */
#define G3 0x212980dadfd79f8au
#define SA 0x58f53fa1f2012ec1u /* "sa" */

static const uint8_t descriptions[] = "\xc1\x2e\x01\xf2\xa1\x3f\xf5\x58"
                                      "\xff\xff\xff\xff\x00\x00\x01\x00\x02sa"
                                      "\xdd\x5c\x8b\xf5\x15\x58\xff\xcb"
                                      "\x01\x00\x00\x00\x00\x00\x00\x00\x05third";

/* Three probes of "third"; "g2", whose code stands in "g3". */
#define THIRD_BODY "\xdd\x5c\x8b\xf5\x15\x58\xff\xcb\x03\x00\x01\x80\x05\x02\x82\x00\x03\x82\x09"
#define ALIAS_BODY                                                                                 \
    "\xe1\xc8\x04\x88\x85\x3d\x86\xab\x02\x00\x00\x20\x8a\x9f\xd7\xdf\xda\x80\x29\x21\x01\x80\x00"
/* "sa" with a block, in which "third" is inlined at probe 7 and in that "g2" at an unknown one,
 * with a discriminator of 300. */
#define INLINED_BODY                                                                               \
    "\xc1\x2e\x01\xf2\xa1\x3f\xf5\x58\x01\x01\x01\x80\x04"                                         \
    "\x07\xdd\x5c\x8b\xf5\x15\x58\xff\xcb\x00\x01"                                                 \
    "\x00\xe1\xc8\x04\x88\x85\x3d\x86\xab\x01\x00\x02\xc1\x7e\xac\x02"
/* The same as BOLT writes it: an address, and no bases afterwards. */
#define REWRITTEN_BODIES                                                                           \
    "\xaa\xf2\xf8\x99\x92\x37\x97\x05\x01\x00\x01\x00\xec\x00\x60\x00\x00\x00\x00\x00"             \
    "\xdd\x5c\x8b\xf5\x15\x58\xff\xcb\x02\x00\x01\x80\x7c\x02\x82\x08"

/* --- Files ------------------------------------------------------------------------------------ */

static void add_symbols(struct image *image)
{
    static const char names[] = "\0third\0g3\0sa.llvm.77\0sa.cold";
    const Elf64_Sym symbols[] = {
        {.st_name = 0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 1, .st_value = 7},
        {.st_name = 10, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x203000},
        {.st_name = 7, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x202000},
        {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x201840},
    };
    image_align(image, 8);
    Elf64_Shdr *section = image_section(image, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
    section->sh_entsize = sizeof(*symbols);
    section->sh_link = (uint32_t)image->section_count;
    image_section(image, ".strtab", SHT_STRTAB, names, sizeof(names));
}

/* Open a file with these sections. */
static struct bat_elf *open_file(const void *first, size_t first_size, const void *second,
                                 size_t second_size, bool has_symbols)
{
    struct image image = image_new();
    image_section(&image, ".text", SHT_PROGBITS, "\xc3", 1);
    image_section(&image, ".pseudo_probe_desc", SHT_PROGBITS, first, first_size);
    image_section(&image, ".pseudo_probe", SHT_PROGBITS, second, second_size);
    if (has_symbols)
        add_symbols(&image);
    image_end(&image);
    char *path = path_in(make_folder(), "program");
    save(path, image.bytes, image.size);
    return open_elf(path);
}

/* A file with the descriptions, these bodies, and symbols. */
#define OPEN_BODIES(bodies)                                                                        \
    open_file(descriptions, sizeof(descriptions) - 1, bodies, sizeof(bodies) - 1, true)

KEPT(kept_probes, struct bat_probes, bat_probes_free)

/* symbols: another file that has them, or NULL. */
static struct bat_probes *read_probes(struct bat_elf *elf, struct bat_elf *symbols)
{
    struct bat_probes *probes;
    struct bat_error error;
    assert_ok(bat_probes_read(elf, symbols, &probes, &error));
    return kept_probes(probes);
}

static struct bat_probes *read_spans(struct bat_elf *elf, const struct bat_probe_span *spans,
                                     size_t count)
{
    struct bat_probes *probes;
    struct bat_error error;
    const struct bat_probe_spans wanted = {spans, count};
    assert_ok(bat_probes_read_spans(elf, NULL, &wanted, &probes, &error));
    return kept_probes(probes);
}

/* --- What is read ----------------------------------------------------------------------------- */

static void expect_probe(const struct bat_probes *probes, uint32_t i, uint64_t address,
                         uint64_t guid, uint32_t id, uint8_t type)
{
    assert_true(i < probes->probe_count);
    const struct bat_probe *probe = &probes->probes[i];
    assert_int_equal(probe->address, address);
    assert_int_equal(probes->nodes[probe->node].guid, guid);
    assert_int_equal(probe->id, id);
    assert_int_equal(probe->type, type);
}

TEST(test_clang)
{
    struct bat_elf *elf = OPEN_BODIES(INLINED_BODY ALIAS_BODY THIRD_BODY);
    assert_true(bat_probes_are_in(elf));
    const struct bat_probes *probes = read_probes(elf, NULL);
    assert_int_equal(probes->probe_count, 6);
    assert_int_equal(probes->unplaced_count, 0);
    assert_false(probes->is_rewritten);
    /* The last symbol "third" holds, and "sa.llvm.77" stands for "sa". */
    expect_probe(probes, 0, 0x201845, THIRD, 1, BAT_PROBE_BLOCK);
    expect_probe(probes, 1, 0x201845, THIRD, 2, BAT_PROBE_DIRECT_CALL);
    expect_probe(probes, 2, 0x20184e, THIRD, 3, BAT_PROBE_DIRECT_CALL);
    expect_probe(probes, 3, 0x202000, G2, 1, BAT_PROBE_BLOCK);
    expect_probe(probes, 4, 0x203002, G2, 2, BAT_PROBE_INDIRECT_CALL);
    expect_probe(probes, 5, 0x203004, SA, 1, BAT_PROBE_BLOCK);
    assert_int_equal(probes->probes[4].discriminator, 300);
    assert_int_equal(probes->probes[4].attributes, BAT_PROBE_DISCRIMINATED);

    /* Four bodies: "sa" with two inlined into each other, then two others. */
    assert_int_equal(probes->node_count, 5);
    const struct bat_probe_node *nodes = probes->nodes;
    assert_int_equal(nodes[0].end, 3);
    assert_int_equal(nodes[0].parent, BAT_NONE);
    assert_int_equal(nodes[1].parent, 0);
    assert_int_equal(nodes[1].call_site, 7);
    assert_int_equal(nodes[1].end, 3);
    assert_int_equal(nodes[2].parent, 1);
    assert_int_equal(nodes[2].call_site, 0);
    assert_int_equal(nodes[2].function, BAT_NONE);
    assert_int_equal(nodes[4].guid, THIRD);
    assert_int_equal(bat_probes_top(probes, 2), 0);

    uint32_t first;
    assert_int_equal(probes->body_count, 3);
    assert_int_equal(bat_probes_bodies(probes, G2, &first), 1);
    assert_int_equal(probes->bodies[first], 3);
    assert_int_equal(bat_probes_bodies(probes, G2 + 1, &first), 0);
    assert_int_equal(bat_probes_between(probes, 0x201845, 0x201845 + 1, &first), 2);
    assert_int_equal(first, 0);
    assert_int_equal(bat_probes_between(probes, 0x201846, 0x203004, &first), 3);
    assert_int_equal(first, 2);
    assert_int_equal(bat_probes_between(probes, 9, 8, &first), 0);

    assert_int_equal(probes->function_count, 2);
    const struct bat_probe_function *function = bat_probes_function(probes, SA);
    assert_ptr_equal(function, &probes->functions[0]);
    assert_int_equal(function->hash, 0x10000ffffffff);
    assert_int_equal(function->name_length, 2);
    assert_memory_equal(function->name, "sa", 2);
    assert_int_equal(nodes[4].function, 1);
    assert_null(bat_probes_function(probes, G3));
}

TEST(test_bolt)
{
    const struct bat_probes *probes = read_probes(OPEN_BODIES(REWRITTEN_BODIES), NULL);
    assert_true(probes->is_rewritten);
    assert_int_equal(probes->probe_count, 3);
    expect_probe(probes, 0, 0x6000e8, THIRD, 1, BAT_PROBE_BLOCK);
    expect_probe(probes, 1, 0x6000ec, 0x0597379299f8f2aa, 1, BAT_PROBE_BLOCK);
    expect_probe(probes, 2, 0x6000f0, THIRD, 2, BAT_PROBE_DIRECT_CALL);
}

/* BOLT 22 leaves out the discriminators that it announces (bit 0x40 of the types). */
TEST(test_left_out)
{
    const struct bat_probes *probes =
        read_probes(OPEN_BODIES("\xdd\x5c\x8b\xf5\x15\x58\xff\xcb\x03\x00"
                                "\x01\x40\xec\x00\x60\x00\x00\x00\x00\x00"
                                "\x02\xc0\x04\x03\x82\x08"),
                    NULL);
    assert_true(probes->lacks_discriminators);
    assert_int_equal(probes->probe_count, 3);
    expect_probe(probes, 0, 0x6000ec, THIRD, 1, BAT_PROBE_BLOCK);
    expect_probe(probes, 1, 0x6000f0, THIRD, 2, BAT_PROBE_BLOCK);
    expect_probe(probes, 2, 0x6000f8, THIRD, 3, BAT_PROBE_DIRECT_CALL);
    assert_int_equal(probes->probes[0].discriminator, 0);
}

/* Without symbols clang's encoding has no addresses; an unstripped copy has them. */
TEST(test_stripped)
{
    static const uint8_t bodies[] = THIRD_BODY;
    struct bat_elf *elf =
        open_file(descriptions, sizeof(descriptions) - 1, bodies, sizeof(bodies) - 1, false);
    struct bat_elf *whole = open_file("", 0, "", 0, true);
    const struct bat_probes *probes = read_probes(elf, NULL);
    assert_int_equal(probes->probe_count, 0);
    assert_int_equal(probes->unplaced_count, 3);
    assert_int_equal(probes->node_count, 1);
    expect_probe(read_probes(elf, whole), 2, 0x20184e, THIRD, 3, BAT_PROBE_DIRECT_CALL);
    probes = read_probes(whole, NULL);
    assert_int_equal(probes->node_count + probes->function_count, 0);
}

/* Read the probes in two spans, and compare with those of all probes that are in them. */
static void expect_spans(struct bat_elf *elf, const struct bat_probes *all,
                         const struct bat_probe_span spans[2])
{
    const struct bat_probes *probes = read_spans(elf, spans, 2);
    uint32_t found = 0;
    for (size_t span = 0; span < 2; span++) {
        uint32_t first;
        const uint32_t count = bat_probes_between(all, spans[span].start, spans[span].end, &first);
        for (uint32_t i = first; i < first + count; i++, found++) {
            const struct bat_probe *probe = &all->probes[i];
            const uint32_t function = all->nodes[probe->node].function;
            expect_probe(probes, found, probe->address, all->nodes[probe->node].guid, probe->id,
                         probe->type);
            assert_int_equal(probes->probes[found].discriminator, probe->discriminator);
            /* Its tree is whole, and its function has its name. */
            const struct bat_probe_node *node = &probes->nodes[probes->probes[found].node];
            assert_int_equal(node->end - probes->probes[found].node,
                             all->nodes[probe->node].end - probe->node);
            const uint32_t top = bat_probes_top(probes, probes->probes[found].node);
            assert_int_equal(probes->nodes[top].guid,
                             all->nodes[bat_probes_top(all, probe->node)].guid);
            assert_int_equal(node->function == BAT_NONE, function == BAT_NONE);
            if (function != BAT_NONE)
                assert_ptr_equal(probes->functions[node->function].name,
                                 all->functions[function].name);
        }
    }
    assert_int_equal(probes->probe_count, found);
    for (uint32_t i = 0; i < probes->body_count; i++) {
        const uint32_t body = probes->bodies[i];
        uint32_t own = 0;
        for (uint32_t j = 0; j < probes->probe_count; j++)
            own += bat_probes_top(probes, probes->probes[j].node) == body;
        assert_true(own > 0);
    }
    for (uint32_t i = 0; i < probes->function_count; i++) {
        uint32_t own = 0;
        for (uint32_t j = 0; j < probes->node_count; j++)
            own += probes->nodes[j].guid == probes->functions[i].guid;
        assert_true(own > 0);
    }
}

TEST(test_spans)
{
    static const uint64_t bounds[] = {0,        0x201845, 0x201846, 0x20184e, 0x20184f,
                                      0x202000, 0x203002, 0x203004, 0x203005, UINT64_MAX};
    struct bat_elf *elf = OPEN_BODIES(INLINED_BODY ALIAS_BODY THIRD_BODY);
    const struct bat_probes *all = read_probes(elf, NULL);
    for (size_t a = 0; a + 3 < COUNT(bounds); a++)
        for (size_t b = a + 1; b + 2 < COUNT(bounds); b++)
            for (size_t c = b + 1; c + 1 < COUNT(bounds); c++)
                for (size_t d = c + 1; d < COUNT(bounds); d++)
                    expect_spans(elf, all,
                                 (const struct bat_probe_span[]){{bounds[a], bounds[b]},
                                                                 {bounds[c], bounds[d]}});

    const struct bat_probes *none = read_spans(elf, NULL, 0);
    assert_int_equal(none->probe_count + none->node_count + none->body_count, 0);
    assert_int_equal(none->function_count, 0);
}

/* --- Damaged sections ------------------------------------------------------------------------- */

static void expect_failure(const void *first, size_t first_size, const void *second,
                           size_t second_size, enum bat_code code, const char *message)
{
    struct bat_elf *elf = open_file(first, first_size, second, second_size, true);
    struct bat_probes *probes;
    struct bat_error error;
    assert_int_equal(bat_probes_read(elf, NULL, &probes, &error), code);
    assert_string_equal(error.message, message);
}

#define EXPECT_FAILURE(bytes, code, message)                                                       \
    expect_failure("", 0, bytes, sizeof(bytes) - 1, code, message)

#define GUID "\xdd\x5c\x8b\xf5\x15\x58\xff\xcb"

TEST(test_damaged)
{
    expect_failure(descriptions, sizeof(descriptions) - 2, "", 0, BAT_ERR_COUNT,
                   ".pseudo_probe_desc+0x23: expected a name's length of at most 4, as 4 bytes are "
                   "left, found 5");
    expect_failure(descriptions, 12, "", 0, BAT_ERR_TRUNCATED,
                   ".pseudo_probe_desc+0x8: expected a function's hash (8 bytes), found the "
                   "section's end after 4 bytes");
    EXPECT_FAILURE(GUID, BAT_ERR_TRUNCATED,
                   ".pseudo_probe+0x8: expected a number of probes (LEB128), found the section's "
                   "end after 0 bytes");
    EXPECT_FAILURE(GUID "\x02\x00\x01\x80\x05", BAT_ERR_COUNT,
                   ".pseudo_probe+0x8: expected a number of probes of at most 1, as 4 bytes are "
                   "left, found 2");
    EXPECT_FAILURE(GUID "\x00\xff\xff\xff\xff\x0f", BAT_ERR_COUNT,
                   ".pseudo_probe+0x9: expected a number of inlined bodies of at most 0, as 0 "
                   "bytes are left, found 4294967295");
    EXPECT_FAILURE(GUID "\x01\x00\x80\x80\x80\x80\x10\x80\x05", BAT_ERR_RANGE,
                   ".pseudo_probe+0xa: expected a probe's id of at most 32 bits, found 4294967296");
    EXPECT_FAILURE(GUID "\x01\x00\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", BAT_ERR_LEB128,
                   ".pseudo_probe+0xc: expected a probe's distance of at most 64 bits, found more; "
                   "the lower ones are 0x0");
    EXPECT_FAILURE(GUID "\x01\x00\x01\x80"
                        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
                   BAT_ERR_LEB128,
                   ".pseudo_probe+0xc: expected a probe's distance in at most 16 bytes of LEB128, "
                   "found more");
    EXPECT_FAILURE(GUID "\x01\x00\x01\x00\x01\x02\x03", BAT_ERR_TRUNCATED,
                   ".pseudo_probe+0xc: expected a probe's address (8 bytes), found the section's "
                   "end after 3 bytes");
    EXPECT_FAILURE(GUID "\x01\x00\x01\xc0\x05", BAT_ERR_TRUNCATED,
                   ".pseudo_probe+0xd: expected a discriminator (LEB128), found the section's end "
                   "after 0 bytes");
}

/* Assemblers pad distances whose size they had to guess: -4 in three bytes. */
TEST(test_padding)
{
    static const uint8_t bodies[] = GUID "\x02\x00\x81\x80\x00\x80\xfc\xff\x7f\x02\x80"
                                         "\x84\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
    const struct bat_probes *probes =
        read_probes(open_file("", 0, bodies, sizeof(bodies) - 1, true), NULL);
    expect_probe(probes, 0, 0x20183c, THIRD, 1, BAT_PROBE_BLOCK);
    expect_probe(probes, 1, 0x201840, THIRD, 2, BAT_PROBE_BLOCK);
}

/* Bodies inlined into each other: as many as are allowed, and one more. */
TEST(test_depth)
{
    enum { SIZE = 11 };
    static uint8_t bodies[(BAT_PROBE_DEPTH_MAX + 1) * SIZE];
    for (size_t extra = 0; extra < 2; extra++) {
        const size_t count = BAT_PROBE_DEPTH_MAX + extra;
        uint8_t *at = bodies;
        for (size_t i = 0; i < count; i++) {
            if (i > 0)
                *at++ = 1;
            memcpy(at, GUID, 8);
            at[8] = 0;
            at[9] = i + 1 < count;
            at += 10;
        }
        struct bat_elf *elf = open_file("", 0, bodies, (size_t)(at - bodies), true);
        struct bat_probes *probes;
        struct bat_error error;
        enum bat_code code = bat_probes_read(elf, NULL, &probes, &error);
        assert_int_equal(code, extra ? BAT_ERR_COUNT : BAT_OK);
        if (code == BAT_OK) {
            kept_probes(probes);
            assert_int_equal(probes->nodes[0].end, BAT_PROBE_DEPTH_MAX);
            assert_int_equal(bat_probes_top(probes, BAT_PROBE_DEPTH_MAX - 1), 0);
        } else {
            assert_string_equal(error.message,
                                ".pseudo_probe+0x2bff: expected at most 1024 bodies inlined into "
                                "each other, found more");
        }
    }
}

/* --- Names ------------------------------------------------------------------------------------ */

/* RFC 1321, A.5, and lengths about a block's end (coreutils' md5sum): the first 8 bytes. */
TEST(test_md5)
{
    static const struct {
        const char *text;
        uint64_t digest;
    } cases[] = {
        {"", 0x04b2008fd98c1dd4},
        {"a", 0xa8b6f1c0b975c10c},
        {"abc", 0xb04fd23c98500190},
        {"message digest", 0x8d93b77c7d696bf9},
        {"abcdefghijklmnopqrstuvwxyz", 0x00e49261d7d3fcc3},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 0xf5d977d298ab74d1},
        {"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "0",
         0x55c9e32ba2f4ed57},
        {"third", THIRD},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(bat_md5_low(cases[i].text, strlen(cases[i].text)), cases[i].digest);
    char many[119];
    memset(many, 'x', sizeof(many));
    assert_int_equal(bat_md5_low(many, 55), 0x2f515ce220443604);
    assert_int_equal(bat_md5_low(many, 56), 0x8ef017bad5728a66);
    assert_int_equal(bat_md5_low(many, 64), 0xd5b292d8814fbbc1);
    assert_int_equal(bat_md5_low(many, 119), 0x43a4c8685f7a34ab);
    assert_int_equal(bat_probe_guid("sa", 2), SA);
}

TEST(test_suffixes)
{
    static const struct {
        const char *name;
        size_t length;
    } cases[] = {{"f", 1},
                 {"f.llvm.12", 1},
                 {"f.cold", 1},
                 {"f.cold.3", 1},
                 {"f.part.0", 8},
                 {"a.warm.resume", 6},
                 {"f.__uniq.1.llvm.2", 10},
                 {"", 0}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(bat_probe_name_length(cases[i].name, strlen(cases[i].name)),
                         cases[i].length);
}

/* GUIDs in all places, also where hashes are not: damaged files have any. */
TEST(test_functions)
{
    static const uint64_t shapes[][7] = {
        {0, 0, 1, 2, 2, 3, 4},
        {UINT64_MAX - 6, UINT64_MAX - 5, UINT64_MAX - 3, UINT64_MAX - 3, UINT64_MAX - 1, UINT64_MAX,
         UINT64_MAX},
        {0, 1, 2, UINT64_MAX / 2, UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX},
        {1u << 31, 1ull << 61, 1ull << 62, 3ull << 61, 1ull << 63, 5ull << 61, 7ull << 61},
    };
    for (size_t shape = 0; shape < COUNT(shapes); shape++) {
        for (uint32_t count = 0; count <= 7; count++) {
            struct bat_probe_function functions[7] = {{.guid = 0}};
            for (uint32_t i = 0; i < count; i++)
                functions[i].guid = shapes[shape][i];
            const struct bat_probes probes = {.functions = functions, .function_count = count};
            for (uint32_t i = 0; i < 7; i++) {
                for (uint64_t guid = shapes[shape][i] - 1; guid != shapes[shape][i] + 2; guid++) {
                    uint32_t first = 0;
                    while (first < count && functions[first].guid != guid)
                        first++;
                    assert_ptr_equal(bat_probes_function(&probes, guid),
                                     first < count ? &functions[first] : NULL);
                }
            }
        }
    }
}
