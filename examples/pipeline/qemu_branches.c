/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A plugin of qemu-user that counts the taken branches of a program, for machines whose processor
 * keeps no branch records. It writes them as a pre-aggregated profile, which battranslate reads
 * (-p).
 *
 *     cc -O2 -shared -fPIC qemu_branches.c -o qemu_branches.so
 *     qemu-x86_64 -plugin ./qemu_branches.so,binary=PROGRAM,out=FILE PROGRAM ARGUMENTS...
 *
 * A line "T branch from to count" is a taken branch, the place that it went to, and the last
 * instruction of the code that ran through from there to the next taken branch. All branches are
 * counted, none is sampled. For programs of one thread, x86-64 and AArch64.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* What is needed of qemu-plugin.h, which no package of Debian 12 has: version 1 of the interface.
 */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void tb_trans_cb(uint64_t plugin, struct qemu_plugin_tb *tb);
typedef void tb_exec_cb(unsigned int vcpu, void *data);
typedef void exit_cb(uint64_t plugin, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, tb_trans_cb *cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, tb_exec_cb *cb,
                                          enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_atexit_cb(uint64_t plugin, exit_cb *cb, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_start_code(void);
int qemu_plugin_install(uint64_t plugin, const struct qemu_info_t *info, int argc, char **argv);

int qemu_plugin_version = 1;

/* What the last instruction of a block can do. */
enum kind { NO_BRANCH, CONDITIONAL, TAKEN, REPEATED };

/* Instructions that qemu enters only at the first one. */
struct block {
    uint64_t start, last, end; /* `end` is behind the last instruction */
    enum kind kind;
};

struct trace {
    uint64_t branch, from, to, count; /* a count of 0: a free place of the table */
};

enum { RANGES_MAX = 16 };
static struct range {
    uint64_t start, end;
} code[RANGES_MAX]; /* the program's code, as the file has it */
static size_t code_count;
static uint64_t first_code, image_base; /* addresses in the file */
static bool is_aarch64;
static bool is_movable; /* loaded at an address that qemu chose */
static uint64_t bias;   /* what was added to the file's addresses */

static FILE *out;
static pid_t program;
static struct trace *table; /* open addressing */
static size_t table_size, table_used;
static const struct block *before; /* the block entered last */
static uint64_t branch,
    from; /* the last taken branch, and where it went; a branch of 0: not known */

static void fail(const char *what)
{
    fprintf(stderr, "qemu_branches: %s\n", what);
    exit(1);
}

/* --- The program ------------------------------------------------------------------------------ */

/* Read from the program's headers where its code is. */
static void read_program(const char *path)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    bool has_base = false;
    FILE *file = fopen(path, "rb");

    if (!file || fread(&header, sizeof(header), 1, file) != 1 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        fail("binary= names no ELF file of 64 bits");
    is_aarch64 = header.e_machine == EM_AARCH64;
    is_movable = header.e_type == ET_DYN;
    first_code = UINT64_MAX;
    for (unsigned int i = 0; i < header.e_phnum; i++) {
        if (fseek(file, (long)(header.e_phoff + i * sizeof(segment)), SEEK_SET) != 0 ||
            fread(&segment, sizeof(segment), 1, file) != 1)
            fail("the program headers are cut off");
        if (segment.p_type != PT_LOAD)
            continue;
        if (!has_base)
            image_base = segment.p_vaddr;
        has_base = true;
        if (!(segment.p_flags & PF_X) || code_count == RANGES_MAX)
            continue;
        code[code_count++] = (struct range){segment.p_vaddr, segment.p_vaddr + segment.p_memsz};
        if (segment.p_vaddr < first_code)
            first_code = segment.p_vaddr;
    }
    fclose(file);
}

static bool is_inside(uint64_t address)
{
    for (size_t i = 0; i < code_count; i++)
        if (address - bias >= code[i].start && address - bias < code[i].end)
            return true;
    return false;
}

/* --- Counting --------------------------------------------------------------------------------- */

static struct trace *find(const struct trace *key)
{
    uint64_t hash = (key->branch * 31 + key->from) * 31 + key->to;
    size_t i = (size_t)((hash * 0x9e3779b97f4a7c15u) >> 20) & (table_size - 1);

    while (table[i].count &&
           (table[i].branch != key->branch || table[i].from != key->from || table[i].to != key->to))
        i = (i + 1) & (table_size - 1);
    return &table[i];
}

static void grow(void)
{
    struct trace *old = table;
    size_t size = table_size;

    table_size = size ? 2 * size : 1024;
    table = calloc(table_size, sizeof(*table));
    if (!table)
        fail("no memory");
    for (size_t i = 0; i < size; i++)
        if (old[i].count)
            *find(&old[i]) = old[i];
    free(old);
}

static void count(uint64_t to)
{
    struct trace key = {branch, from, to, 0}, *found;

    if (!is_inside(from) && !(branch && is_inside(branch)))
        return;
    if (2 * table_used >= table_size)
        grow();
    found = find(&key);
    if (!found->count) {
        *found = key;
        table_used++;
    }
    found->count++;
}

static void enter(unsigned int vcpu, void *data)
{
    const struct block *block = data;
    bool is_next;

    if (vcpu)
        fail("the program has several threads");
    if (!before) {
        from = block->start;
    } else {
        /* A repeated string instruction is entered again for every round. */
        is_next = block->start == before->end ||
                  (before->kind == REPEATED && block->start == before->last);
        if (before->kind == TAKEN || !is_next) {
            count(before->last);
            /* What neither falls through nor branches was left for a signal. */
            branch = before->kind == TAKEN || before->kind == CONDITIONAL ? before->last : 0;
            from = block->start;
        }
    }
    before = block;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static enum kind kind_of_aarch64(const char *text)
{
    if (begins(text, "b.") || begins(text, "cb") || begins(text, "tb"))
        return CONDITIONAL;
    return begins(text, "b ") || begins(text, "bl") || begins(text, "br") || begins(text, "ret")
               ? TAKEN
               : NO_BRANCH;
}

static enum kind kind_of_x86(const char *text)
{
    static const char *const prefixes[] = {"bnd ",  "notrack ", "data16 ", "addr32 ",
                                           "lock ", "cs ",      "ds "};
    bool is_repeated = begins(text, "rep");

    if (is_repeated && strchr(text, ' '))
        text = strchr(text, ' ') + 1;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (begins(text, prefixes[i]))
            text += strlen(prefixes[i]);
    if (begins(text, "ret") || begins(text, "jmp") || begins(text, "call"))
        return TAKEN;
    if (begins(text, "j") || begins(text, "loop"))
        return CONDITIONAL;
    return is_repeated ? REPEATED : NO_BRANCH;
}

/* What a block's last instruction does, from its disassembly. */
static enum kind kind_of(const char *text)
{
    return is_aarch64 ? kind_of_aarch64(text) : kind_of_x86(text);
}

static void translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
    struct block *block = malloc(sizeof(*block)); /* kept: qemu may enter it until the end */
    size_t n = qemu_plugin_tb_n_insns(tb);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
    char *text = qemu_plugin_insn_disas(last);

    (void)plugin;
    if (!block)
        fail("no memory");
    /* qemu leaves an instruction that goes on in the next page to the next block, but counts its
     * first bytes here. */
    if (n > 1 && text && begins(text, ".byte")) {
        free(text);
        last = qemu_plugin_tb_get_insn(tb, n - 2);
        text = qemu_plugin_insn_disas(last);
    }
    block->start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
    block->last = qemu_plugin_insn_vaddr(last);
    block->end = block->last + qemu_plugin_insn_size(last);
    block->kind = kind_of(text ? text : "");
    free(text);
    if (is_movable && !bias)
        bias = qemu_plugin_start_code() - first_code;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, enter, QEMU_PLUGIN_CB_NO_REGS, block);
}

/* --- The profile ------------------------------------------------------------------------------ */

/* Offsets count from where the first segment of a movable program is loaded. */
static void print_place(uint64_t address)
{
    if (is_inside(address))
        fprintf(out, " %lx", address - (is_movable ? bias + image_base : 0));
    else
        fprintf(out, " X:%lx", address);
}

static void finish(uint64_t plugin, void *data)
{
    (void)plugin;
    (void)data;
    if (getpid() != program)
        return;
    for (size_t i = 0; i < table_size; i++) {
        if (!table[i].count)
            continue;
        fputc(table[i].branch ? 'T' : 'F', out);
        if (table[i].branch)
            print_place(table[i].branch);
        print_place(table[i].from);
        print_place(table[i].to);
        fprintf(out, " %lu\n", table[i].count);
    }
    if (fclose(out) != 0)
        fail("the profile could not be written");
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (begins(argv[i], "binary="))
            read_program(argv[i] + strlen("binary="));
        else if (begins(argv[i], "out="))
            out = fopen(argv[i] + strlen("out="), "w");
    }
    if (!code_count || !out)
        fail("expected binary=PROGRAM,out=FILE");
    program = getpid();
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, translate);
    qemu_plugin_register_atexit_cb(plugin, finish, NULL);
    return 0;
}
