/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What many addresses in a row have in common, for conversions of whole functions. Internal to the
 * library.
 */
#pragma once

#include "bat_debuginfo.h"

/* Addresses up to end that are in the same function or inlined call, and on one line. */
struct debug_stretch {
    uint64_t end;  /* behind the last address */
    uint32_t unit; /* a number below that of bat_debuginfo_counters(); BAT_NONE: in no unit */
    uint32_t node; /* number of the innermost function or inlined call in the unit; or BAT_NONE */
    uint32_t line; /* 0: not known */
    uint32_t discriminator;
};

/* The stretch from an address on. Quick near the last address, else logarithmic. */
struct debug_stretch debug_stretch_at(struct bat_debuginfo *debuginfo, uint64_t address);

/* How far the addresses from one on are in no unit: the end of these; 0 if the first is in one. */
uint64_t debug_gap_end(struct bat_debuginfo *debuginfo, uint64_t address);

/* A function or inlined call. */
struct debug_call {
    const char *linkage_name; /* or NULL */
    uint32_t name;            /* number of the linkage name in the unit */
    uint32_t parent;          /* the node that it is inlined into, less than its own; or BAT_NONE */
    uint32_t start_line;
    uint32_t call_line; /* in the parent */
    uint32_t call_discriminator;
};

/* The numbers of nodes and of names of a unit that has a stretch, and one of the nodes. */
size_t debug_call_count(const struct bat_debuginfo *debuginfo, uint32_t unit);
size_t debug_name_count(const struct bat_debuginfo *debuginfo, uint32_t unit);
struct debug_call debug_call_at(const struct bat_debuginfo *debuginfo, uint32_t unit,
                                uint32_t node);

/* The number of threads that bat_debuginfo_set_threads() was given. */
unsigned debug_threads(const struct bat_debuginfo *debuginfo);
