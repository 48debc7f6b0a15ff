/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The profiled binary as a process sees it: which mappings are of it, and where they put it.
 * Internal to the library.
 */
#ifndef BAT_PROFILE_PERF_BINARY_H
#define BAT_PROFILE_PERF_BINARY_H

#include "bat_profile.h"

/* perf's records have no room for more of a build-id. */
#define PERF_BUILD_ID_SIZE 20u

/* How many executable segments a binary may have: real ones have few, each mapping is compared to
 * all. */
#define PERF_CODE_MAX 128u

struct perf_binary {
    const struct bat_elf *elf;
    const char *name; /* its path's last part */
    const uint8_t *build_id;
    size_t build_id_size; /* 0 if it has none */
    bool ignore_build_id;
    bool is_fixed;      /* always at the addresses that it was linked for */
    bool doubles_entry; /* branch stacks of 32 may hold the newest entry twice: x86, and BOLTed */
    uint64_t low;       /* addresses of its segments: [low, high) */
    uint64_t high;
    struct bat_segment code[PERF_CODE_MAX]; /* the executable ones, code_count */
    uint32_t code_count;
};

/* Fails with BAT_ERR_ARGUMENT for a profile that does not know its binary. */
enum bat_code perf_binary_init(struct perf_binary *binary, const struct bat_profile *profile,
                               struct bat_error *error);

/* A path's last part, without perf's " (deleted)"; *size without it. */
const char *perf_base_name(const char *path, size_t *size);

enum perf_match { PERF_MATCH_UNKNOWN, PERF_MATCH_YES, PERF_MATCH_NO };

/*
 * Compare a build-id with the binary's. One whose size is not known is padded to
 * PERF_BUILD_ID_SIZE with zeros. UNKNOWN if either is empty.
 */
enum perf_match perf_binary_match_build_id(const struct perf_binary *binary,
                                           const uint8_t *build_id, size_t size, bool knows_size);

bool perf_binary_match_name(const struct perf_binary *binary, const char *path);

/*
 * What has to be subtracted from a process's addresses to get the binary's own, given a mapping of
 * length bytes of the file from offset on. False if no such mapping of its code can be.
 */
bool perf_binary_bias(const struct perf_binary *binary, uint64_t address, uint64_t length,
                      uint64_t offset, uint64_t *bias);

#endif
