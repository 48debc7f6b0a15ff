/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The list of all checks; spec/checks.md gives the reason for each. */
#include "checking.h"

/* By enum bat_check_id. */
static const struct bat_check checks[] = {
    [CHECK_CONTAINER] = {"container", BAT_ERROR,
                         "the ELF note header has BOLT's owner and type, and sizes that fit"},
    [CHECK_TRUNCATED] = {"truncated", BAT_ERROR, "no field reaches beyond the note's end"},
    [CHECK_TRAILING] = {"trailing", BAT_ERROR, "no bytes follow the last table"},
    [CHECK_LEB128] = {"leb128", BAT_ERROR,
                      "numbers are LEB128 in the shortest form, of at most 64 bits"},
    [CHECK_COUNT] = {"count", BAT_ERROR, "counts fit in the bytes that are left"},
    [CHECK_RANGE] = {"range", BAT_ERROR, "offsets fit 32 bits (input offsets 31), indices 32"},
    [CHECK_ORDER] = {"order", BAT_ERROR,
                     "tables and entries ascend, and no two tables share an address"},
    [CHECK_PREFIX] = {"prefix", BAT_ERROR, "an equal prefix is no longer than its table"},
    [CHECK_HOT_INDEX] = {"hot-index", BAT_ERROR, "hot indices name hot functions"},
    [CHECK_VERSION] = {"version", BAT_NOTE, "the note is of version 3"},
    [CHECK_HOT_INDEX_MERGED] = {"hot-index-merged", BAT_WARNING,
                                "hot indices are positions in the hot table"},
    [CHECK_PARENTS] = {"parents", BAT_WARNING, "it is known whose fragments are whose"},
    [CHECK_ROUND_TRIP] = {"round-trip", BAT_ERROR, "encoding the map again gives the same bytes"},
    [CHECK_PREFIX_SHORT] = {"prefix-short", BAT_WARNING, "an equal prefix is as long as it can be"},
    [CHECK_SKEW] = {"skew", BAT_WARNING, "a fragment's skew is its first entry's input offset"},
    [CHECK_OVERLAP] = {"overlap", BAT_ERROR, "a table ends before the next one starts"},
    [CHECK_NOT_EMITTED] = {"not-emitted", BAT_WARNING,
                           "tables and entries are of code that BOLT emitted"},
    [CHECK_HASH_OFFSET] = {"hash-offset", BAT_WARNING,
                           "a block's hash ends with its input offset's lowest 16 bits"},
    [CHECK_BLOCK_HASH] = {"block-hash", BAT_ERROR, "a block has the same hash in all entries"},
    [CHECK_BLOCK_INDEX] = {"block-index", BAT_ERROR, "a block has the same index in all entries"},
    [CHECK_BLOCK_ORDER] = {"block-order", BAT_ERROR, "block indices ascend with input offsets"},
    [CHECK_BLOCK_COUNT] = {"block-count", BAT_ERROR,
                           "block indices are below the function's number of blocks"},
    [CHECK_SECONDARY] = {"secondary", BAT_ERROR,
                         "secondary entry points are blocks of the function"},
    [CHECK_NO_SYMBOLS] = {"no-symbols", BAT_NOTE,
                          "the binary has symbols to check the tables against"},
    [CHECK_EXECUTABLE] = {"executable", BAT_ERROR, "tables start in executable sections"},
    [CHECK_START] = {"start", BAT_ERROR, "a function starts where a table starts"},
    [CHECK_SIZE] = {"size", BAT_ERROR, "entries lie inside their function or fragment"},
    [CHECK_FRAGMENT_NAME] = {"fragment-name", BAT_ERROR, "a fragment has its parent's name"},
    [CHECK_ORIGINAL_NAMES] = {"original-names", BAT_WARNING,
                              "functions can be compared with the original's by name"},
    [CHECK_ORIGINAL_BUILD] = {"original-build", BAT_ERROR,
                              "the original's build-id is that of the file that BOLT read"},
    [CHECK_ORIGINAL_FUNCTION] = {"original-function", BAT_ERROR,
                                 "the original has a function with the table's name"},
    [CHECK_ORIGINAL_OFFSET] = {"original-offset", BAT_ERROR,
                               "input offsets lie inside the original's function"},
    [CHECK_ORIGINAL_SECONDARY] = {"original-secondary", BAT_ERROR,
                                  "secondary entry points lie inside the original's function"},
    [CHECK_PROBE_SECTION] = {"probe-section", BAT_WARNING,
                             "pseudo probes of the original are there, and can be read"},
    [CHECK_PROBE_MOVED] = {"probe-moved", BAT_WARNING,
                           "pseudo probes are at what became of their blocks and calls"},
    [CHECK_PROBE_DROPPED] = {"probe-dropped", BAT_NOTE, "the original's pseudo probes are there"},
};

_Static_assert(sizeof(checks) / sizeof(checks[0]) == CHECK_IDS, "every check is in the list");

const struct bat_check *bat_checks(size_t *count)
{
    *count = sizeof(checks) / sizeof(checks[0]);
    return checks;
}

const struct bat_check *bat_check_of(enum bat_check_id check)
{
    return &checks[check];
}

const char *bat_severity_name(enum bat_severity severity)
{
    static const char *const names[] = {
        [BAT_NOTE] = "note", [BAT_WARNING] = "warning", [BAT_ERROR] = "error"};
    return (unsigned)severity <= BAT_ERROR ? names[severity] : "unknown";
}
