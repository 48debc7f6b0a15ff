/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the secondary entry points, in functions without a table, that records enter: by the blocks
 * of their code.
 */
#include <stdlib.h>

#include "records.h"
#include "tableless.h"

/* True for a branch from a function with a table to one without, but not to its start. */
static bool may_enter(const struct bat_records *records, const uint64_t *item)
{
    return bat_records_is_function(records, item[0]) && bat_records_is_function(records, item[2]) &&
           item[3] != 0 && records->tables[(uint32_t)item[0]] != BAT_NONE &&
           records->tables[(uint32_t)item[2]] == BAT_NONE &&
           !(records->symbols[(uint32_t)item[2]].flags & BAT_FUNCTION_PLT);
}

static enum bat_code add_id(struct bat_records *records, struct bat_tableless *tableless,
                            const uint64_t *item, struct bat_error *error)
{
    const uint64_t key[2] = {(uint32_t)item[2], item[3]};
    if (bat_counts_find(&records->entry_ids, key))
        return BAT_OK;
    const struct bat_code_blocks *blocks;
    BAT_TRY(bat_tableless_blocks(tableless, (uint32_t)item[2], &blocks, error));
    enum bat_code code =
        bat_counts_add(&records->entry_ids, key, bat_code_entry_id(blocks, item[3]), 0);
    return code == BAT_OK ? BAT_OK : bat_fail(error, code, "not enough memory for entry points");
}

enum bat_code bat_records_find_entries(struct bat_records *records, const struct bat_elf *symbols,
                                       struct bat_error *error)
{
    uint8_t *wanted = calloc((size_t)records->function_count + 1, 1);
    BAT_TRY_MEMORY(wanted, error, "for entry points");
    bool has_any = false;
    for (uint32_t i = 0; i < records->branches.count; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        if (may_enter(records, item))
            wanted[(uint32_t)item[2]] = has_any = true;
    }
    struct bat_tableless tableless = {.threads = records->threads};
    enum bat_code code = BAT_OK;
    if (has_any)
        code = bat_tableless_open(&tableless, records->binary->elf, symbols, records->functions,
                                  wanted, error);
    free(wanted);
    for (uint32_t i = 0; has_any && i < records->branches.count && code == BAT_OK; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        if (may_enter(records, item))
            code = add_id(records, &tableless, item, error);
    }
    bat_tableless_close(&tableless);
    return code;
}
