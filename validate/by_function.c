/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The checks for a note that is not decoded as a whole: each function's entries are in memory
 * only while it is checked. Memory stays below the note's size.
 */
#include "checking.h"
#include "reading.h"
#include "skim.h"

static void release_passed(const uint8_t *bytes, size_t size, void *context)
{
    const struct bat_binary *binary = context;
    bat_binary_release_note(binary, bytes, size);
}

static enum bat_code check_function(struct bat_checking *checking, struct bat_skim *skim,
                                    uint32_t hot, const struct bat_binary_facts *facts,
                                    const struct bat_block_room *room)
{
    enum bat_code code = bat_skim_load(skim, hot, checking->error);
    if (code != BAT_OK)
        return code;
    const struct bat_map *map = checking->map;
    bat_check_table(checking, hot);
    bat_check_table_in_binary(checking, facts, hot);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++) {
        bat_check_table(checking, map->fragments[i]);
        bat_check_table_in_binary(checking, facts, map->fragments[i]);
    }
    bat_check_function_blocks(checking, hot, room);
    bat_check_fragment_names(checking, facts, hot);
    return BAT_OK;
}

static enum bat_code check_all(struct bat_checking *checking, struct bat_skim *skim)
{
    struct bat_binary_facts *facts;
    enum bat_code code = bat_binary_facts_collect(checking, &facts);
    struct bat_block_room *room = NULL;
    if (code == BAT_OK) {
        room = bat_block_room_new(checking);
        code = room ? BAT_OK : BAT_ERR_MEMORY;
    }
    for (uint32_t hot = 0; hot < checking->map->hot_count && code == BAT_OK; hot++)
        code = check_function(checking, skim, hot, facts, room);
    bat_block_room_free(room);
    bat_binary_facts_free(facts);
    return code;
}

/* Where hot indices can be read in two ways, symbols decide. */
static enum bat_code choose_reading(struct bat_checking *checking, struct bat_skim *skim)
{
    if (!skim->map->hot_index_ambiguous)
        return BAT_OK;
    checking->binary->map = skim->map;
    enum bat_code code = bat_binary_choose_reading(checking->binary, checking->error);
    checking->binary->map = NULL;
    return code;
}

enum bat_code bat_check_by_function(struct bat_checking *checking)
{
    struct bat_skim skim;
    enum bat_code code =
        bat_skim_open(&skim, checking->binary->note, checking->binary->note_size,
                      BAT_HOT_INDEX_AUTO, release_passed, checking->binary, checking->error);
    if (code != BAT_OK)
        return code;
    checking->map = skim.map;
    checking->verdict->tables = bat_map_tables(skim.map);
    checking->table_offsets = skim.starts;
    checking->is_located = true;
    code = choose_reading(checking, &skim);
    if (code == BAT_OK)
        code = bat_names_collect(checking->binary, &checking->names, checking->error);
    if (code == BAT_OK)
        code = bat_check_hot_index_form(checking);
    if (code == BAT_OK)
        code = check_all(checking, &skim);
    checking->map = NULL;
    checking->table_offsets = NULL;
    bat_skim_close(&skim);
    return code;
}
