/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Choosing among the processes that have binaries, and the errors if there is none. */
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "processes.h"
#include "spec/hex_bytes.h"
#include "spec/order.h"

/* A message that is made of pieces. */
struct text {
    char bytes[BAT_MESSAGE_SIZE];
    size_t size;
    size_t limit; /* at most sizeof(bytes) */
};

/* Append to the text. False, with the text unchanged, if there is not enough space. */
static BAT_PRINTF(2, 3) bool append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t space = text->limit - text->size;
    int size = vsnprintf(text->bytes + text->size, space, format, arguments);
    va_end(arguments);
    bool fits = size >= 0 && (size_t)size < space;
    /* Names of files can hold control characters. */
    for (int i = 0; fits && i < size; i++) {
        char *byte = &text->bytes[text->size++];
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            *byte = '?';
    }
    text->bytes[text->size] = '\0';
    return fits;
}

/* Characters of a build-id in hexadecimal, and a zero. */
#define HEX_SIZE (2 * PERF_BUILD_ID_SIZE + 1)

static bool append_build_id(struct text *text, const uint8_t *build_id, size_t size)
{
    char hex[HEX_SIZE];
    bat_hex_bytes(hex, sizeof(hex), build_id, size);
    return size == 0 || append(text, " (build-id %s)", hex);
}

/* Space that is kept free for " and N more," at the end. */
#define MORE_SIZE 32u

/* " (build-id ..., 5 of 20 samples)" as far as these are known. */
static bool append_details(struct text *text, const struct perf_processes *processes,
                           const struct perf_object *object)
{
    const uint64_t all = processes->census.all;
    char hex[HEX_SIZE];
    bat_hex_bytes(hex, sizeof(hex), object->build_id, object->build_id_size);
    if (all == 0 || (object->samples == 0 && *hex == '\0'))
        return append_build_id(text, object->build_id, object->build_id_size);
    return append(text, " (%s%s%s%lu of %lu samples)", *hex ? "build-id " : "", hex,
                  *hex ? ", " : "", object->samples, all);
}

static bool append_object(struct text *text, const struct perf_processes *processes, uint32_t i)
{
    size_t before = text->size;
    if (append(text, " %s", bat_strings_get(&processes->names, i)) &&
        append_details(text, processes, &processes->objects[i]) && append(text, ",") &&
        text->size + MORE_SIZE < text->limit)
        return true;
    text->size = before;
    text->bytes[before] = '\0';
    return false;
}

/* An object that a message may name. */
struct named {
    uint32_t number;
    bool is_other_build;
    uint64_t samples;
};

/* Append the objects that were mapped or, if only_sampled, that have samples; returns how many. */
static uint32_t append_objects(struct text *text, const struct perf_processes *processes,
                               bool only_sampled)
{
    struct named *all = calloc((size_t)processes->names.count + 1, sizeof(*all));
    uint32_t count = 0;
    uint32_t named = 0;
    for (uint32_t i = 0; all && i < processes->names.count; i++) {
        const struct perf_object *object = &processes->objects[i];
        if (object->samples != 0 || (object->is_mapped && !only_sampled))
            all[count++] = (struct named){i, object->is_other_build, object->samples};
    }
    /* Other builds of the binary, then the files with most samples. */
    BAT_SORT(all, count, BAT_DESCENDING(struct named, is_other_build),
             BAT_DESCENDING(struct named, samples), BAT_ASCENDING(struct named, number));
    for (uint32_t i = 0; i < count; i++)
        named += append_object(text, processes, all[i].number);
    if (named < count)
        append(text, " and %u more,", count - named);
    free(all);
    return count;
}

/* "app (build-id ...)", or "app or one of 4 others". */
static void append_binaries(struct text *text, const struct perf_processes *processes, bool with_id)
{
    const struct perf_binary *binary = processes->binaries;
    append(text, "%.64s", binary->name);
    if (with_id && processes->binary_count == 1)
        append_build_id(text, binary->build_id, binary->build_id_size);
    if (processes->binary_count > 1)
        append(text, " or one of %u others", processes->binary_count - 1);
}

/* What was found instead of the binaries, and what to do. */
static const char *const found_none[] = {"none",
                                         " (give the program that ran, or record this one):"};
static const char *const found_other_build[] = {
    "only other builds of it", " (give the build that ran; --ignore-build-id accepts any):"};
static const char *const found_elsewhere[] = {
    "a file of its name only, mapped where this one has no code", " (give the build that ran):"};

static const char *const *what_was_found(const struct perf_processes *processes)
{
    bool is_elsewhere = false;
    for (uint32_t i = 0; i < processes->binary_count; i++) {
        if (processes->found[i].has_other_build)
            return found_other_build;
        is_elsewhere |= processes->found[i].is_elsewhere;
    }
    return is_elsewhere ? found_elsewhere : found_none;
}

/* The name that uname -m has for a machine; NULL for others. */
static const char *machine_name(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86_64";
    case EM_AARCH64:
        return "aarch64";
    case EM_RISCV:
        return "riscv64";
    default:
        return NULL;
    }
}

/* Append why no process can have the binary: another machine, or nothing but the kernel. */
static bool append_cause(struct text *text, const struct perf_processes *processes)
{
    const char *own = processes->binary_count != 0
                          ? machine_name(bat_elf_machine(processes->binaries->elf))
                          : NULL;
    if (own && processes->machine[0] != '\0' && strcmp(own, processes->machine) != 0)
        return append(text, "; it is for %s, and the recording is of %s: record it there", own,
                      processes->machine);
    const struct perf_census_sums *sums = &processes->census;
    if (sums->all != 0 && sums->kernel == sums->all)
        return append(text,
                      "; all %lu samples are the kernel's: record user space with perf record -e "
                      "cycles:u -j any,u",
                      sums->all);
    return false;
}

enum bat_code perf_processes_fail(const struct perf_processes *processes, struct bat_error *error)
{
    struct text text = {.limit = BAT_MESSAGE_SIZE};
    append(&text, "expected a process that has ");
    append_binaries(&text, processes, true);
    const char *const *found = what_was_found(processes);
    append(&text, ", found %s", found[0]);
    if (append_cause(&text, processes))
        return bat_fail(error, BAT_ERR_MISMATCH, "%s", text.bytes);
    append(&text, "%s", processes->files.count != 0 ? found[1] : ":");
    if (append_objects(&text, processes, false) == 0)
        append(&text, " no mappings were recorded%s,",
               processes->is_text ? ", or none printed (perf script --show-mmap-events)" : "");
    /* Remove the last comma. */
    text.bytes[text.size - 1] = '\0';
    return bat_fail(error, BAT_ERR_MISMATCH, "%s", text.bytes);
}

void perf_processes_describe_samples(const struct perf_processes *processes, char *buffer,
                                     size_t size)
{
    struct text text = {.limit = size < BAT_MESSAGE_SIZE ? size : BAT_MESSAGE_SIZE};
    if (append_objects(&text, processes, true) != 0)
        text.bytes[text.size - 1] = '\0';
    snprintf(buffer, size, "%s", text.bytes + (text.size != 0));
}

/* The processes that options want, and their number; 0 for all. */
static const int32_t *wanted_processes(const struct bat_read_options *options, size_t *count)
{
    *count = options->has_process ? 1 : options->process_count;
    return options->has_process ? &options->process : options->processes;
}

static enum bat_code fail_without_process(const struct perf_processes *processes,
                                          const struct bat_read_options *options,
                                          struct bat_error *error)
{
    size_t wanted_count;
    const int32_t *wanted = wanted_processes(options, &wanted_count);
    struct text text = {.limit = BAT_MESSAGE_SIZE};
    append(&text, "expected process %d%s to have ", wanted[0],
           wanted_count > 1 ? " or another that is wanted" : "");
    append_binaries(&text, processes, false);
    append(&text, ", found it in");
    uint32_t count = processes->table.count;
    uint32_t named = 0;
    for (uint32_t i = 0; i < processes->table.count; i++) {
        const uint64_t *item = bat_counts_item(&processes->table, i);
        if (text.size + MORE_SIZE + 16 < text.limit && append(&text, " %d,", (int32_t)item[0]))
            named++;
    }
    if (named < count)
        append(&text, " and %u more,", count - named);
    text.bytes[text.size - 1] = '\0';
    return bat_fail(error, BAT_ERR_MISMATCH, "%s", text.bytes);
}

uint32_t perf_processes_count(const struct perf_processes *processes, uint32_t binary)
{
    return processes->found ? processes->found[binary].processes : 0;
}

/* Count a process, whose spans these are, for the binaries that it has. */
static void count_binaries(struct perf_processes *processes, const struct perf_span *spans,
                           size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i == 0 || spans[i - 1].binary != spans[i].binary)
            processes->found[spans[i].binary].processes++;
}

/* Keep only the processes in the table that options want. */
static enum bat_code keep_wanted(struct perf_processes *processes,
                                 const struct bat_read_options *options, struct bat_error *error)
{
    size_t count;
    const int32_t *wanted = wanted_processes(options, &count);
    for (uint32_t i = 0; i < processes->binary_count; i++)
        processes->found[i].processes = 0;
    struct bat_counts table = bat_counts_new(1);
    enum bat_code code = BAT_OK;
    /* The kernel is in all processes. */
    for (size_t i = 0; i <= count && code == BAT_OK; i++) {
        const uint64_t key = i < count ? (uint32_t)wanted[i] : PERF_KERNEL_PROCESS;
        const uint64_t *item = bat_counts_find(&processes->table, &key);
        if (!item || bat_counts_find(&table, &key))
            continue;
        code = bat_counts_add(&table, &key, item[1], item[2]);
        count_binaries(processes, processes->spans + item[1], (size_t)item[2]);
    }
    if (code != BAT_OK || table.count == 0) {
        bat_counts_free(&table);
        return code == BAT_OK ? fail_without_process(processes, options, error)
                              : bat_fail(error, code, "not enough memory");
    }
    bat_counts_free(&processes->table);
    processes->table = table;
    return BAT_OK;
}

enum bat_code perf_processes_finish(struct perf_processes *processes, bool has_time,
                                    const struct bat_read_options *options, struct bat_error *error)
{
    if (perf_processes_order(processes, has_time) != BAT_OK)
        return bat_fail_memory(error, "for the profile's processes");
    if (processes->binary_count == 0)
        return BAT_OK;
    processes->lacks_all = processes->table.count == 0;
    if (processes->lacks_all)
        return perf_processes_fail(processes, error);
    return options && (options->has_process || options->process_count != 0)
               ? keep_wanted(processes, options, error)
               : BAT_OK;
}
