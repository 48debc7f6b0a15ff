/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constants of the perf.data format (spec/perf-data.md): of the records that the kernel writes and
 * of what perf adds. Internal to the library.
 */
#pragma once

#include <stdint.h>

#include "spec/little_endian.h"

/* --- A file's head ------------------------------------------------------------------------ */

#define PERF_MAGIC "PERFILE2"
#define PERF_MAGIC_SWAPPED "2ELIFREP"
#define PERF_MAGIC_OLD "PERFFILE"
#define PERF_MAGIC_SIZE 8u

#define PERF_FILE_HEADER_SIZE 104u
#define PERF_PIPE_HEADER_SIZE 16u
#define PERF_FEATURE_BITS 256u

enum perf_feature {
    FEATURE_BUILD_ID = 2,
    FEATURE_ARCH = 6,
    FEATURE_EVENT_DESC = 12,
    FEATURE_FOLDER = 24, /* the records are in several files of a folder */
};

/* --- Records ------------------------------------------------------------------------------ */

#define PERF_RECORD_HEADER_SIZE 8u

enum perf_record_type {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_KERNEL_LAST = 21, /* the kernel's last record that is known here */
    RECORD_HEADER_ATTR = 64, /* the first of perf's own records */
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_AUXTRACE_INFO = 70,
    RECORD_AUXTRACE = 71,
    RECORD_EVENT_UPDATE = 78,
    RECORD_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
    RECORD_PERF_LAST = 84, /* perf's last record that is known here */
};

/* Bits of a record's misc field; some mean different things in different records. */
enum perf_misc {
    MISC_CPU_MODE = 7,
    MISC_KERNEL = 1,
    MISC_GUEST_KERNEL = 4,
    MISC_GUEST_USER = 5,
    MISC_MMAP_DATA = 1 << 13,
    MISC_COMM_EXEC = 1 << 13,
    MISC_MMAP_BUILD_ID = 1 << 14,
    MISC_BUILD_ID_SIZE = 1 << 15,
};

#define PERF_EVENT_UPDATE_NAME 2u

/* --- Attributes --------------------------------------------------------------------------- */

/* The size of the first version of attributes; each later version is longer. */
#define PERF_ATTRIBUTE_SIZE_MIN 64u

/* Offsets in attributes. */
enum perf_attribute_field {
    ATTRIBUTE_TYPE = 0,
    ATTRIBUTE_SIZE = 4,
    ATTRIBUTE_CONFIG = 8,
    ATTRIBUTE_SAMPLE_TYPE = 24,
    ATTRIBUTE_READ_FORMAT = 32,
    ATTRIBUTE_FLAGS = 40,
    ATTRIBUTE_BRANCH_TYPE = 72,
    ATTRIBUTE_REGS_USER = 80,
    ATTRIBUTE_REGS_INTR = 96,
};

enum perf_flag {
    FLAG_EXCLUDE_USER = 1 << 4,
    FLAG_EXCLUDE_KERNEL = 1 << 5,
    FLAG_EXCLUDE_HV = 1 << 6,
    FLAG_PRECISE_SHIFT = 15,
    FLAG_SAMPLE_ID_ALL = 1 << 18,
};

enum perf_sample_bit {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_BRANCH_STACK = 1 << 11,
    SAMPLE_REGS_USER = 1 << 12,
    SAMPLE_STACK_USER = 1 << 13,
    SAMPLE_WEIGHT = 1 << 14,
    SAMPLE_DATA_SRC = 1 << 15,
    SAMPLE_IDENTIFIER = 1 << 16,
    SAMPLE_TRANSACTION = 1 << 17,
    SAMPLE_REGS_INTR = 1 << 18,
    SAMPLE_PHYS_ADDR = 1 << 19,
    SAMPLE_AUX = 1 << 20,
    SAMPLE_CGROUP = 1 << 21,
    SAMPLE_DATA_PAGE_SIZE = 1 << 22,
    SAMPLE_CODE_PAGE_SIZE = 1 << 23,
    SAMPLE_WEIGHT_STRUCT = 1 << 24,
    SAMPLE_KNOWN = (1 << 25) - 1,
};

enum perf_read_bit {
    READ_TIME_ENABLED = 1 << 0,
    READ_TIME_RUNNING = 1 << 1,
    READ_ID = 1 << 2,
    READ_GROUP = 1 << 3,
    READ_LOST = 1 << 4,
    READ_KNOWN = (1 << 5) - 1,
};

enum perf_branch_bit {
    BRANCH_ANY = 1 << 3,
    BRANCH_ANY_CALL = 1 << 4,
    BRANCH_ANY_RETURN = 1 << 5,
    BRANCH_IND_CALL = 1 << 6,
    BRANCH_ABORT_TX = 1 << 7,
    BRANCH_IN_TX = 1 << 8,
    BRANCH_NO_TX = 1 << 9,
    BRANCH_COND = 1 << 10,
    BRANCH_CALL_STACK = 1 << 11,
    BRANCH_IND_JUMP = 1 << 12,
    BRANCH_CALL = 1 << 13,
    BRANCH_HW_INDEX = 1 << 17,
    BRANCH_COUNTERS = 1 << 19,
    BRANCH_KNOWN = (1 << 20) - 1,
};

/* An entry of a branch stack: from, to, flags. */
#define PERF_BRANCH_SIZE 24u
#define PERF_BRANCH_MISPREDICTED 1u
#define PERF_BRANCH_TYPE ((uint64_t)15 << 20) /* 0 unless recorded with -j save_type */
#define PERF_BRANCH_RETURN ((uint64_t)6 << 20)
#define PERF_BRANCH_COND_RETURN ((uint64_t)10 << 20)
#define PERF_BRANCH_SPECULATION ((uint64_t)3 << 24)
#define PERF_BRANCH_WRONG_PATH ((uint64_t)1 << 24)
#define PERF_BRANCH_NOT_TAKEN ((uint64_t)1 << 33) /* perf's own: of the trace of SPE */

/* Addresses from here on are the kernel's. */
#define PERF_KERNEL_ADDRESS 0xffff800000000000u
