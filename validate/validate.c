/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <stdlib.h>

#include "checking.h"
#include "spec/options.h"

/* True if a code of bat_binary_decode() means that the note is damaged. */
static bool is_about_note(enum bat_code code)
{
    switch (code) {
    case BAT_ERR_CONTAINER:
    case BAT_ERR_TRUNCATED:
    case BAT_ERR_TRAILING:
    case BAT_ERR_LEB128:
    case BAT_ERR_COUNT:
    case BAT_ERR_RANGE:
    case BAT_ERR_ORDER:
    case BAT_ERR_PREFIX:
    case BAT_ERR_HOT_INDEX:
    case BAT_ERR_VERSION:
        return true;
    default:
        return false;
    }
}

/* A damaged note is a finding; other failures are returned to the caller. */
static enum bat_code report_undecodable(struct bat_checking *checking, enum bat_code code,
                                        const struct bat_error *error)
{
    if (is_about_note(code)) {
        bat_checking_find_undecodable(checking, error);
        return BAT_OK;
    }
    if (checking->error)
        *checking->error = *error;
    return code;
}

/* What an old note lacks. */
static enum bat_code check_version(struct bat_checking *checking)
{
    const struct bat_map *map = checking->map;
    if (map->version != BAT_VERSION_3)
        bat_checking_find(checking, CHECK_VERSION, BAT_NONE, BAT_NONE,
                          "expected a note of version 3, found one of version %d, written by BOLT "
                          "%s: it has no hashes, so that profiles are fdata only, and later BOLTs "
                          "refuse it; \"batinject --upgrade\" makes it version 3",
                          (int)map->version,
                          map->version == BAT_VERSION_1 ? "17 or earlier" : "18");
    if (map->hot_index == BAT_HOT_INDEX_FRAGMENT && map->hot_index_ambiguous)
        bat_checking_find(checking, CHECK_PARENTS, BAT_NONE, BAT_NONE,
                          "expected hot indices that name parents, found BOLT 18's, which number "
                          "the fragments, and not all fragments have symbols that tell");
    return BAT_OK;
}

static enum bat_code check_hot_index_form(struct bat_checking *checking)
{
    if (checking->map->hot_index == BAT_HOT_INDEX_MERGED)
        bat_checking_find(checking, CHECK_HOT_INDEX_MERGED, BAT_NONE, BAT_NONE,
                          "expected hot indices that are positions in the hot table, found BOLT "
                          "19's, which are positions among hot and cold tables together and crash "
                          "perf2bolt; \"batinject --repair\" rewrites them");
    return BAT_OK;
}

static enum bat_code run_checks(struct bat_checking *checking)
{
    static enum bat_code (*const groups[])(struct bat_checking *) = {
        check_version,    check_hot_index_form, bat_check_round_trip, bat_check_tables,
        bat_check_blocks, bat_check_binary,     bat_check_original,   bat_check_probes,
    };
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        BAT_TRY(groups[i](checking));
    return BAT_OK;
}

enum bat_code bat_validate(struct bat_binary *binary, const struct bat_validate_options *options,
                           bat_finding_fn *finding, void *context, struct bat_verdict *verdict,
                           struct bat_error *error)
{
    *verdict = (struct bat_verdict){0};
    struct bat_validate_options own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), options, "bat_validate_options", error));
    enum bat_code code = BAT_OK;
    struct bat_checking checking = {
        .binary = binary,
        .options = &own,
        .receive = finding,
        .context = context,
        .verdict = verdict,
        .error = error,
    };
    struct bat_error cause;
    if (!binary->map)
        code = bat_binary_decode(binary, &cause);
    if (code != BAT_OK)
        return report_undecodable(&checking, code, &cause);
    checking.map = binary->map;
    verdict->tables = bat_map_tables(binary->map);
    code = bat_names_collect(binary, &checking.names, error);
    code = code ? code : run_checks(&checking);
    bat_names_free(&checking.names);
    free(checking.table_offsets);
    return code;
}
