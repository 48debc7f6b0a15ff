/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Addresses of functions by GUID, from symbols. Internal to probes/. */
#pragma once

#include "bat_elf.h"
#include "support/key_sort.h"

/* Filled at the first question: BOLT's encoding asks none. */
struct probe_bases {
    struct bat_elf *symbols; /* the file whose symbols are used */
    bool is_read;
    struct bat_sort_key *keys; /* GUID and address, ascending by GUID; the last of a GUID holds */
    size_t count;
};

/* The address of the function with this GUID; *is_known is false if no symbol has its name. */
enum bat_code probe_bases_find(struct probe_bases *bases, uint64_t guid, uint64_t *address,
                               bool *is_known, struct bat_error *error);

void probe_bases_free(struct probe_bases *bases);
