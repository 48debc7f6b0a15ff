/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The profiled binary in processes: which mappings are of it, and with which bias. Internal to the
 * library.
 */
#pragma once

#include "bat_profile.h"

/* The most bytes of a build-id in perf's records. */
#define PERF_BUILD_ID_SIZE 20u

/* The most executable segments of a binary: a mapping is compared to each. Real ones have few. */
#define PERF_CODE_MAX 128u

struct perf_binary {
    const struct bat_elf *elf;
    const char *name; /* its path's last part */
    /* Linux's kernel: every process has it, and its code alone counts as it. */
    bool is_kernel;
    const char *mapped_name; /* what mappings call it: name, or PERF_KERNEL_NAME */
    char linked_name[256];   /* of the file that the path leads to by links; empty if it is name */
    uint64_t text_section;   /* of a kernel: address of .text, where _stext is */
    const uint8_t *build_id;
    size_t build_id_size; /* 0 if it has none */
    bool ignore_build_id;
    bool is_fixed;      /* always loaded at the addresses that it was linked for */
    bool doubles_entry; /* its branch stacks of 32 may hold the newest entry twice: x86, BOLTed */
    uint64_t low;       /* addresses of its segments: [low, high) */
    uint64_t high;
    struct bat_segment code[PERF_CODE_MAX]; /* the executable ones, code_count */
    uint32_t code_count;
};

/* The path of the kernel in records, which may be followed by the name of a symbol. */
#define PERF_KERNEL_NAME "[kernel.kallsyms]"

/* The process that maps the kernel. */
#define PERF_KERNEL_PROCESS UINT32_MAX

/* Fails with BAT_ERR_ARGUMENT for a profile without a binary, BAT_ERR_ELF for bad segments. */
enum bat_code perf_binary_init(struct perf_binary *binary, const struct bat_profile *profile,
                               struct bat_error *error);

/* The last part of a path. *size is its length without perf's " (deleted)". */
const char *perf_base_name(const char *path, size_t *size);

enum perf_match { PERF_MATCH_UNKNOWN, PERF_MATCH_YES, PERF_MATCH_NO };

/*
 * Compare a build-id with the binary's. If its size is not known, it is padded with zeros to
 * PERF_BUILD_ID_SIZE. PERF_MATCH_UNKNOWN if either is empty or this one is all zeros.
 */
enum perf_match perf_binary_match_build_id(const struct perf_binary *binary,
                                           const uint8_t *build_id, size_t size, bool knows_size);

/*
 * The bias of a mapping of length bytes of the file from offset on: an address in the process less
 * the bias is the binary's address. False if this cannot be a mapping of the binary's code.
 */
bool perf_binary_bias(const struct perf_binary *binary, uint64_t address, uint64_t length,
                      uint64_t offset, uint64_t *bias);

/*
 * The same for a kernel, of which a symbol, _text or _stext, was at this address: it may be moved
 * when it starts.
 */
bool perf_binary_kernel_bias(const struct perf_binary *binary, uint64_t symbol, bool is_stext,
                             uint64_t *bias);
