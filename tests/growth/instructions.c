/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A plugin of qemu-user that prints how many instructions a program has executed, in all threads.
 */
#include <inttypes.h>
#include <stdio.h>

/* What is needed of qemu-plugin.h, which no package of Debian 12 has: version 1 of the interface.
 */
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
                                           void (*made)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          void (*entered)(unsigned, void *), int no_registers,
                                          void *data);
void qemu_plugin_register_atexit_cb(uint64_t plugin, void (*ended)(uint64_t, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_outs(const char *text);
int qemu_plugin_install(uint64_t plugin, const void *about, int count, char **arguments);

int qemu_plugin_version = 1;

/* One a thread, each in a line of the cache of its own. */
static struct {
    uint64_t count, rest[7];
} threads[1024];

static void entered(unsigned thread, void *instructions)
{
    threads[thread % 1024].count += (uintptr_t)instructions;
}

static void made(uint64_t plugin, struct qemu_plugin_tb *block)
{
    (void)plugin;
    void *instructions = (void *)(uintptr_t)qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, entered, 0, instructions);
}

static void ended(uint64_t plugin, void *data)
{
    (void)plugin;
    (void)data;
    uint64_t sum = 0;
    for (size_t i = 0; i < 1024; i++)
        sum += threads[i].count;
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64 "\n", sum);
    qemu_plugin_outs(text);
}

int qemu_plugin_install(uint64_t plugin, const void *about, int count, char **arguments)
{
    (void)about;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, made);
    qemu_plugin_register_atexit_cb(plugin, ended, NULL);
    return 0;
}
