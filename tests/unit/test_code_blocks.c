/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * binary/code/: blocks of one function, x86-64. Each case is a function f of a few
 * instructions: XOR %ECX,%ECX, what the case is about, then
 *
 *     xor %edx,%edx; test %eax,%eax; 1: xor %ebx,%ebx; 2: xor %esi,%esi; 3: xor %edi,%edi; ret
 *
 * and behind it 8 bytes of padding and the function out. What is expected is what perf2bolt of
 * BOLT 22 prints (-print-profile -enable-bat) for these very bytes at this very address.
 */
#include <inttypes.h>

#include "binary/code/code_blocks.h"
#include "elf_image.h"
#include "kept.h"
#include "unit_test.h"

#define TEXT 0x401000u
#define RODATA 0x402000u
#define PADDING 8u
#define TARGETS_MAX 4u

#define BYTES(string) (const uint8_t *)(string), sizeof(string) - 1

/* What a case is about, between the instructions that all cases have. */
#define CODE(string) BYTES("\x31\xc9" string "\x31\xd2\x85\xc0\x31\xdb\x31\xf6\x31\xff\xc3")

enum table { NO_TABLE, ADDRESSES, DISTANCES };
#define NONE NO_TABLE, {0}, 0

struct block_case {
    const char *what;
    const uint8_t *code;
    size_t size;
    /* "START-LAST" for each block, in hexadecimal; E: an entry point, L: a landing pad, >: reaches
     * the next block, c: does so and ends in a call. "none" if there are no blocks. */
    const char *expected;
    enum table table;              /* what .rodata begins with; a zero follows */
    uint64_t targets[TARGETS_MAX]; /* offsets from f */
    size_t target_count;
};

static const struct block_case cases[] = {
    /* jne 1f */
    {"a conditional branch", CODE("\x75\x04"), "0-2E> 4-6> 8-e", NONE},
    /* jne 1f; jmp 2f */
    {"a jump shares the block of a conditional branch", CODE("\x75\x06\xeb\x06"),
     "0-4E 6-8> a-a> c-10", NONE},
    /* jne 1f; jmp out */
    {"unless it leaves the function", CODE("\x75\x06\xeb\x13"), "0-2E> 4-4 6-8> a-10", NONE},
    /* jne 1f; nop; jmp 1f */
    {"unless a no-operation stands between them", CODE("\x75\x07\x90\xeb\x04"),
     "0-2E> 4-5 7-9> b-11", NONE},
    /* jmp 4f; jne 1f; 4: jmp 2f */
    {"unless it starts a block itself", CODE("\xeb\x02\x75\x06\xeb\x06"),
     "0-2E 4-4> 6-6 8-a> c-c> e-12", NONE},
    /* jmp out; jmp 1f */
    {"a jump shares the block of a tail call", CODE("\xeb\x15\xeb\x04"), "0-4E 6-8> a-10", NONE},
    /* jne out; jmp 1f */
    {"but not of a tail call under a condition", CODE("\x75\x15\xeb\x04"), "0-2Ec> 4-4 6-8> a-10",
     NONE},
    /* ret; jmp 1f; jmp 2f; jmp *%rax; jmp 2f */
    {"nor of a return, another jump or an indirect one",
     CODE("\xc3\xeb\x0a\xeb\x0a\xff\xe0\xeb\x06"), "0-2E 3-3 5-5 7-7 9-9 b-d> f-f> 11-15", NONE},
    /* ud2; jmp 1f; hlt; jmp 2f */
    {"a jump shares the block of a trap", CODE("\x0f\x0b\xeb\x07\xf4\xeb\x06"),
     "0-4E 6-7 9-b> d-d> f-13", NONE},
    /* jmp 1f; 1: nop; jne 1f; 1: */
    {"a jump to the next instruction reaches it", CODE("\xeb\x00\x90\x75\x00"), "0-2E> 4-5> 7-11",
     NONE},
    /* call f; call 2f; call 4f; 4: */
    {"a call inside starts a block, a recursive one does not",
     CODE("\xe8\xf9\xff\xff\xff\xe8\x0b\x00\x00\x00\xe8\x00\x00\x00\x00"), "0-cEc> 11-15> 17-1b",
     NONE},
    /* call out; syscall; int3; call *%rax */
    {"a call does not end a block", CODE("\xe8\x18\x00\x00\x00\x0f\x05\xcc\xff\xd0"), "0-16E",
     NONE},
    /* jne end; jmp end; call end */
    {"a branch to the padding behind is none", CODE("\x75\x12\xeb\x10\xe8\x0b\x00\x00\x00"),
     "0-15E", NONE},
    /* xbegin 1f; xend; xabort $1 */
    {"a transaction may fall through", CODE("\xc7\xf8\x0a\x00\x00\x00\x0f\x01\xd5\xc6\xf8\x01"),
     "0-2E> 8-10> 12-18", NONE},
    /* lock addl $1,(%rax); jmp 2f; lock xadd %eax,(%rcx); 1: */
    {"a LOCK prefix is an instruction", CODE("\xf0\x83\x00\x01\xeb\x0a\xf0\x0f\xc1\x01"),
     "0-6E 8-10> 12-16", NONE},
    /* jne 1f; lock; 1: addl $1,(%rax) */
    {"a jump over a LOCK prefix", CODE("\x75\x01\xf0\x83\x00\x01"), "0-2E> 4-4> 5-12", NONE},
    /* lea 2f(%rip),%rax */
    {"an address of its own code makes an entry point", CODE("\x48\x8d\x05\x06\x00\x00\x00"),
     "0-dE> f-13E", NONE},
    /* cmpb $3,3f(%rip) */
    {"so does memory among its own code", CODE("\x80\x3d\x08\x00\x00\x00\x03"), "0-fE> 11-13E",
     NONE},
    /* mov $0x401004,%eax */
    {"but not an absolute address", CODE("\xb8\x04\x10\x40\x00"), "0-11E", NONE},
    /* 4: loop 4b */
    {"LOOP is not understood", CODE("\xe2\xfe"), "none", NONE},
    /* jne f+1 */
    {"a branch into an instruction", CODE("\x75\xfd"), "none", NONE},
    /* jmp *0x402000(,%rax,8) */
    {"a table of addresses",
     CODE("\xff\x24\xc5\x00\x20\x40\x00"),
     "0-2E 9-b> d-d> f-f> 11-13",
     ADDRESSES,
     {0xd, 0xf, 0x11, 0xd},
     4},
    /* mov 0x402000(,%rax,8),%rdx; nop; jmp *%rdx */
    {"through a register",
     CODE("\x48\x8b\x14\xc5\x00\x20\x40\x00\x90\xff\xe2"),
     "0-bE d-f> 11-11> 13-17",
     ADDRESSES,
     {0x11, 0x13},
     2},
    /* jmp *0x402000(,%rax,8); 4: nop; jmp 4b */
    {"a table that leads to the next instruction",
     CODE("\xff\x24\xc5\x00\x20\x40\x00\x90\xeb\xfd"),
     "0-2E> 9-a c-10> 12-16",
     ADDRESSES,
     {0x9, 0x12},
     2},
    /* jmp *0x402000(,%rax,8) */
    {"a table may lead to the start",
     CODE("\xff\x24\xc5\x00\x20\x40\x00"),
     "0-2E 9-f> 11-13",
     ADDRESSES,
     {0x0, 0x11, 0x0},
     3},
    /* jmp *0x402000(,%rax,8) */
    {"a table may lead to the end",
     CODE("\xff\x24\xc5\x00\x20\x40\x00"),
     "0-2E 9-f> 11-13",
     ADDRESSES,
     {0x14, 0x11, 0x14},
     3},
    /* jmp *0x402000(,%rax,8) */
    {"one entry is no table",
     CODE("\xff\x24\xc5\x00\x20\x40\x00"),
     "0-2E 9-13",
     ADDRESSES,
     {0xd, 0x1c, 0xf},
     3},
    /* lea 0x402000(%rip),%rcx; movslq (%rcx,%rax,4),%rax; add %rcx,%rax; jmp *%rax */
    {"a table of distances",
     CODE("\x48\x8d\x0d\xf7\x0f\x00\x00\x48\x63\x04\x81\x48\x01\xc8\xff\xe0"),
     "0-10E 12-14> 16-16> 18-18> 1a-1c",
     DISTANCES,
     {0x16, 0x18, 0x1a},
     3},
    /* lea 0x402000(%rip),%rcx; movslq (%rcx,%rax,4),%rdx; xor %esi,%esi; add %rdx,%rcx; jmp *%rcx
     */
    {"the sum in the other register",
     CODE("\x48\x8d\x0d\xf7\x0f\x00\x00\x48\x63\x14\x81\x31\xf6\x48\x01\xd1\xff\xe1"),
     "0-12E 14-16> 18-18> 1a-1a> 1c-1e",
     DISTANCES,
     {0x18, 0x1a, 0x1c},
     3},
    /* lea 0x402000(%rip),%rcx; movslq (%rcx,%rax,4),%rax; xor %al,%al; add %rcx,%rax; jmp *%rax */
    {"a sum of something else",
     CODE("\x48\x8d\x0d\xf7\x0f\x00\x00\x48\x63\x04\x81\x30\xc0\x48\x01\xc8\xff\xe0"),
     "0-12E 14-1e",
     DISTANCES,
     {0x18, 0x1a, 0x1c},
     3},
    /* lea 0x402000(%rip),%rcx; movslq (%rcx,%rax,4),%rax; xor %ecx,%ecx; add %rcx,%rax; jmp *%rax
     */
    {"a distance from something else",
     CODE("\x48\x8d\x0d\xf7\x0f\x00\x00\x48\x63\x04\x81\x31\xc9\x48\x01\xc8\xff\xe0"),
     "0-12E 14-1e",
     DISTANCES,
     {0x18, 0x1a, 0x1c},
     3},
    /* jmp *0x402000(,%rax,4) */
    {"a scale that does not fit",
     CODE("\xff\x24\x85\x00\x20\x40\x00"),
     "0-2E 9-13",
     ADDRESSES,
     {0xd, 0xf, 0x11},
     3},
    /* jmp *0x402000(%rip); jmp 1f */
    {"a pointer that cannot change",
     CODE("\xff\x25\xf8\x0f\x00\x00\xeb\x04"),
     "0-2E 8-8 a-c> e-e> 10-14E",
     ADDRESSES,
     {0x10},
     1},
};

/* --- The program -------------------------------------------------------------------------- */

struct program {
    char *folder;
    struct bat_elf *elf;
    struct bat_functions *functions;
    struct bat_code_reader *reader;
};

static void put(struct image *image, const char *name, uint64_t flags, uint64_t address,
                const void *bytes, size_t size)
{
    while (image->size < address - 0x400000)
        image_append(image, NULL, 1);
    Elf64_Shdr *section = image_section(image, name, SHT_PROGBITS, bytes, size);
    section->sh_flags = flags;
    section->sh_addr = address;
}

static void put_table(struct image *image, const struct block_case *wanted)
{
    uint64_t entries[TARGETS_MAX + 1] = {0};
    int32_t distances[TARGETS_MAX + 1] = {0};
    for (size_t i = 0; i < wanted->target_count; i++) {
        entries[i] = TEXT + wanted->targets[i];
        distances[i] = (int32_t)(TEXT + wanted->targets[i] - RODATA);
    }
    size_t count = wanted->target_count + 1;
    if (wanted->table == DISTANCES)
        put(image, ".rodata", SHF_ALLOC, RODATA, distances, count * sizeof(*distances));
    else
        put(image, ".rodata", SHF_ALLOC, RODATA, entries, count * sizeof(*entries));
}

static void put_symbols(struct image *image, uint64_t size)
{
    static const char names[] = "\0f\0out";
    Elf64_Sym symbols[] = {
        {0},
        {.st_name = 1,
         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
         .st_shndx = 1,
         .st_value = TEXT,
         .st_size = size},
        {.st_name = 3,
         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
         .st_shndx = 1,
         .st_value = TEXT + size + PADDING,
         .st_size = 2},
    };
    Elf64_Shdr *symtab = image_section(image, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
    symtab->sh_entsize = sizeof(Elf64_Sym);
    symtab->sh_info = 1;
    symtab->sh_link = (uint32_t)image->section_count;
    image_section(image, ".strtab", SHT_STRTAB, names, sizeof(names));
}

static void save_program(const struct block_case *wanted, const char *path)
{
    struct image image = image_new();
    uint8_t text[0x100];
    assert_true(wanted->size + PADDING + 2 <= sizeof(text));
    memset(text, 0x90, sizeof(text));
    memcpy(text, wanted->code, wanted->size);
    text[wanted->size + PADDING + 1] = 0xc3;
    put(&image, ".text", SHF_ALLOC | SHF_EXECINSTR, TEXT, text, wanted->size + PADDING + 2);
    put_table(&image, wanted);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    put_symbols(&image, wanted->size);
    image_end(&image);
    save(path, image.bytes, image.size);
}

static void check(enum bat_code code, const struct bat_error *error)
{
    if (code)
        fail_msg("%s", error->message);
}

/* f is function 0. */
static struct program open_program(const struct block_case *wanted)
{
    static const uint32_t first[] = {0};
    struct program program = {.folder = make_folder()};
    struct bat_error error;
    char *path = path_in(program.folder, "program");
    save_program(wanted, path);
    program.elf = open_elf(path);
    check(bat_functions_create(program.elf, NULL, &program.functions, &error), &error);
    check(bat_code_open(program.elf, NULL, program.functions, first, 1, 0, &program.reader, &error),
          &error);
    kept_functions(program.functions);
    kept_code(program.reader);
    return program;
}

/* --- Blocks ------------------------------------------------------------------------------- */

/* The last block's last instruction matters to no trace, but perf2bolt prints it as well. */
static void describe(const struct bat_code_blocks *blocks, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    if (blocks->count == 0)
        snprintf(text, size, "none");
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct bat_code_block *block = &blocks->all[i];
        bool reaches = block->flags & BAT_BLOCK_REACHES_NEXT;
        int printed = snprintf(
            text + used, size - used, "%s%" PRIx32 "-%" PRIx32 "%s%s%s%s", i ? " " : "",
            block->start, block->last, block->flags & BAT_BLOCK_ENTRY ? "E" : "",
            block->flags & BAT_BLOCK_LANDING_PAD ? "L" : "",
            reaches && block->flags & BAT_BLOCK_ENDS_IN_CALL ? "c" : "", reaches ? ">" : "");
        used += (size_t)printed;
        assert_true(used < size);
    }
}

TEST(blocks_are_those_of_perf2bolt)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct program program = open_program(&cases[i]);
        struct bat_code_blocks blocks;
        struct bat_error error;
        char text[512];
        check(bat_code_blocks(program.reader, 0, &blocks, &error), &error);
        describe(&blocks, text, sizeof(text));
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s: expected %s, found %s", cases[i].what, cases[i].expected, text);
        bat_code_blocks_free(&blocks);
    }
}

/* Code cut off anywhere, and any byte of it replaced, is read without a fault; blocks ascend. */
TEST(damaged_code_has_blocks_or_none)
{
    struct block_case damaged = cases[0];
    uint8_t code[64];
    for (size_t i = 0; i < COUNT(cases); i++) {
        damaged = cases[i];
        memcpy(code, cases[i].code, cases[i].size);
        damaged.code = code;
        damaged.size = cases[i].size / 2 + i % 3;
        code[i % damaged.size] = (uint8_t)(0xc0 + 7 * i);
        struct program program = open_program(&damaged);
        struct bat_code_blocks blocks;
        struct bat_error error;
        check(bat_code_blocks(program.reader, 0, &blocks, &error), &error);
        assert_int_equal(blocks.count == 0, blocks.obstacle != BAT_CODE_CLEAR);
        for (uint32_t j = 0; j < blocks.count; j++) {
            assert_true(blocks.all[j].start <= blocks.all[j].last);
            assert_true(blocks.all[j].last < blocks.size);
            assert_true(j == 0 || blocks.all[j - 1].last < blocks.all[j].start);
            assert_true(blocks.all[j].reach >= j && blocks.all[j].reach < blocks.count);
        }
        bat_code_blocks_free(&blocks);
    }
}

TEST(only_what_was_asked_for_can_be_read)
{
    struct program program = open_program(&cases[0]);
    struct bat_code_blocks blocks;
    struct bat_error error;
    assert_int_equal(bat_code_blocks(program.reader, 1, &blocks, &error), BAT_ERR_ARGUMENT);
    assert_int_equal(blocks.count, 0);
    static const uint32_t twice[] = {1, 1};
    static const uint32_t beyond[] = {2};
    struct bat_code_reader *reader;
    assert_int_equal(
        bat_code_open(program.elf, NULL, program.functions, twice, 2, 0, &reader, &error),
        BAT_ERR_ARGUMENT);
    assert_int_equal(
        bat_code_open(program.elf, NULL, program.functions, beyond, 1, 0, &reader, &error),
        BAT_ERR_ARGUMENT);
    assert_null(reader);
}

/* --- Traces ------------------------------------------------------------------------------- */

/*
 * Blocks as in a function of 0x40 bytes:
 * 0 entry, falls through; 10 ends in a call, falls through; 18 plain, falls through; 20 ends in a
 * call, falls through; 28 landing pad, does not fall through; 30 falls through; 38 the last.
 */
static struct bat_code_blocks some_blocks(void)
{
    static struct bat_code_block all[] = {
        {0x00, 0x0e, 4, BAT_BLOCK_ENTRY | BAT_BLOCK_REACHES_NEXT, 0},
        {0x10, 0x13, 4, BAT_BLOCK_REACHES_NEXT | BAT_BLOCK_ENDS_IN_CALL, 0},
        {0x18, 0x1d, 4, BAT_BLOCK_REACHES_NEXT, 0},
        {0x20, 0x23, 4, BAT_BLOCK_REACHES_NEXT | BAT_BLOCK_ENDS_IN_CALL, 0},
        {0x28, 0x2b, 4, BAT_BLOCK_LANDING_PAD, 0},
        {0x30, 0x36, 6, BAT_BLOCK_REACHES_NEXT, 0},
        {0x38, 0x3f, 6, 0, 0},
    };
    return (struct bat_code_blocks){.all = all, .count = 7, .size = 0x40};
}

struct trace_case {
    uint64_t from;
    uint64_t to;
    unsigned source;
    bool is_valid;
    uint32_t first; /* block */
    uint32_t end;
};

static const struct trace_case traces[] = {
    /* Inside one block, and over several. */
    {0x00, 0x0f, BAT_TRACE_INSIDE, true, 0, 0},
    {0x05, 0x05, BAT_TRACE_INSIDE, true, 0, 0},
    {0x05, 0x10, BAT_TRACE_INSIDE, true, 0, 1},
    {0x00, 0x27, BAT_TRACE_INSIDE, true, 0, 3},
    {0x05, 0x2f, BAT_TRACE_OUTSIDE, true, 0, 4},
    /* Through the landing pad's block, which does not fall through; backwards; beyond the end. */
    {0x05, 0x30, BAT_TRACE_INSIDE, false, 0, 0},
    {0x28, 0x30, BAT_TRACE_INSIDE, false, 0, 0},
    {0x30, 0x3f, BAT_TRACE_INSIDE, true, 5, 6},
    {0x11, 0x10, BAT_TRACE_INSIDE, false, 0, 0},
    {0x30, 0x40, BAT_TRACE_INSIDE, false, 0, 0},
    {0x40, 0x40, BAT_TRACE_INSIDE, false, 0, 0},
    {0x00, UINT64_MAX, BAT_TRACE_INSIDE, false, 0, 0},
    /* From outside to behind a call: the call's block comes first. */
    {0x18, 0x1d, BAT_TRACE_OUTSIDE, true, 1, 2},
    {0x18, 0x1d, BAT_TRACE_OUTSIDE | BAT_TRACE_RETURN, true, 1, 2},
    {0x18, 0x20, BAT_TRACE_OUTSIDE, true, 1, 3},
    /* Not from inside, even a return; not to another place in the block. */
    {0x18, 0x1d, BAT_TRACE_INSIDE, true, 2, 2},
    {0x18, 0x1d, BAT_TRACE_RETURN, true, 2, 2},
    {0x19, 0x1d, BAT_TRACE_OUTSIDE, true, 2, 2},
    /* To a landing pad only a return comes from the call before. */
    {0x28, 0x2b, BAT_TRACE_OUTSIDE, true, 4, 4},
    {0x28, 0x2b, BAT_TRACE_OUTSIDE | BAT_TRACE_RETURN, true, 3, 4},
    /* The block before ends in no call, or does not fall through; there is none before the first.
     */
    {0x10, 0x13, BAT_TRACE_OUTSIDE, true, 1, 1},
    {0x30, 0x36, BAT_TRACE_OUTSIDE | BAT_TRACE_RETURN, true, 5, 5},
    {0x00, 0x0e, BAT_TRACE_OUTSIDE | BAT_TRACE_RETURN, true, 0, 0},
};

TEST(traces_give_the_pairs_of_blocks_they_run_through)
{
    struct bat_code_blocks blocks = some_blocks();
    for (size_t i = 0; i < COUNT(traces); i++) {
        const struct trace_case *trace = &traces[i];
        struct bat_code_fallthroughs found = {99, 99};
        bool is_valid =
            bat_code_fallthroughs(&blocks, trace->from, trace->to, trace->source, &found);
        if (is_valid != trace->is_valid || found.end - found.first != trace->end - trace->first ||
            (found.end > found.first && found.first != trace->first))
            fail_msg("trace %zu, 0x%" PRIx64 " to 0x%" PRIx64 ": expected %s %u to %u, found %s "
                     "%u to %u",
                     i, trace->from, trace->to, trace->is_valid ? "valid" : "invalid", trace->first,
                     trace->end, is_valid ? "valid" : "invalid", found.first, found.end);
    }
}

TEST(no_trace_is_valid_without_blocks)
{
    struct bat_code_blocks none = {.size = 0x40, .obstacle = BAT_CODE_SPLIT};
    struct bat_code_fallthroughs found = {99, 99};
    assert_false(bat_code_fallthroughs(&none, 0, 0, BAT_TRACE_INSIDE, &found));
    assert_int_equal(found.first, found.end);
}
