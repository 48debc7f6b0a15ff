/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A plugin of qemu-user that reports the blocks of instructions that a program
 * enters, for qemu_trace.py.
 *
 *     qemu-x86_64 -plugin qemu_blocks.so,blocks=FD,entries=FD PROGRAM
 *
 * blocks   one line for each translated block: the addresses of its
 *          instructions and the address behind the last one, hexadecimal; a
 *          tab; the disassembly of the last instruction
 * entries  one 32-bit number for each time that a block is entered: the number
 *          of its line, from 0
 *
 * A block's line is written before its first entry is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
int qemu_plugin_install(uint64_t plugin, const struct qemu_info_t *info, int argc, char **argv);

int qemu_plugin_version = 1;

static FILE *blocks;
static uint32_t blocks_count;
static int entries_fd;
static uint32_t entries[1 << 14];
static size_t entries_count;

static void write_entries(void)
{
    const char *next = (const char *)entries;
    size_t left = entries_count * sizeof(entries[0]);

    if (fflush(blocks))
        abort();
    while (left) {
        ssize_t written = write(entries_fd, next, left);
        if (written < 0)
            abort();
        next += written;
        left -= (size_t)written;
    }
    entries_count = 0;
}

static void enter(unsigned int vcpu, void *number)
{
    /* qemu_trace.py refuses programs with several threads: here they only must not do harm. */
    if (vcpu)
        return;
    entries[entries_count++] = (uint32_t)(uintptr_t)number;
    if (entries_count == sizeof(entries) / sizeof(entries[0]))
        write_entries();
}

/*
 * The number of a block's instructions, and the disassembly of the last one. qemu leaves an
 * instruction that goes on in the next page to the next block, but has told the plugin about its
 * first bytes by then. No instruction of x86 begins with all bytes of another one, so they cannot
 * be disassembled.
 */
static size_t count_insns(const struct qemu_plugin_tb *tb, char **text)
{
    size_t count = qemu_plugin_tb_n_insns(tb);

    *text = qemu_plugin_insn_disas(qemu_plugin_tb_get_insn(tb, count - 1));
    if (count > 1 && *text && strncmp(*text, ".byte", 5) == 0) {
        free(*text);
        count--;
        *text = qemu_plugin_insn_disas(qemu_plugin_tb_get_insn(tb, count - 1));
    }
    return count;
}

static void translate(uint64_t plugin, struct qemu_plugin_tb *tb)
{
    struct qemu_plugin_insn *insn = NULL;
    char *text;
    size_t count = count_insns(tb, &text);

    (void)plugin;
    for (size_t i = 0; i < count; i++) {
        insn = qemu_plugin_tb_get_insn(tb, i);
        fprintf(blocks, "%" PRIx64 " ", qemu_plugin_insn_vaddr(insn));
    }
    fprintf(blocks, "%" PRIx64 "\t%s\n", qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn),
            text ? text : "");
    free(text);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, enter, QEMU_PLUGIN_CB_NO_REGS,
                                         (void *)(uintptr_t)blocks_count++);
}

static void finish(uint64_t plugin, void *data)
{
    (void)plugin;
    (void)data;
    write_entries();
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "blocks=", 7) == 0)
            blocks = fdopen(atoi(argv[i] + 7), "w");
        else if (strncmp(argv[i], "entries=", 8) == 0)
            entries_fd = atoi(argv[i] + 8);
    }
    if (!blocks || !entries_fd)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, translate);
    qemu_plugin_register_atexit_cb(plugin, finish, NULL);
    return 0;
}
