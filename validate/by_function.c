/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The checks for a note that is not decoded as a whole: each function's entries are in memory
 * only while it is checked. Memory stays below the note's size.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "checking.h"
#include "reading.h"
#include "skim.h"

static void release_passed(const uint8_t *bytes, size_t size, void *context)
{
    const struct bat_binary *binary = context;
    bat_binary_release_note(binary, bytes, size);
}

/* Findings of the second part that are kept until the first part has told all of its. */
#define KEPT_MAX 64u

/* A part of the hot functions, checked by one thread. */
struct part {
    struct bat_checking checking; /* its own map and verdict */
    struct bat_skim *skim;
    uint32_t first;
    uint32_t end;
    uint32_t near; /* see bat_check_table() */
    const struct bat_binary_facts *facts;
    enum bat_code code;
    struct bat_error error;

    /* Of the second part. */
    sem_t *first_is_done;
    bool is_free; /* the first part has told all of its findings */
    struct bat_finding *kept;
    uint32_t kept_count;
    bat_finding_fn *receive;
    void *context;
};

static enum bat_code check_function(struct part *part, uint32_t hot,
                                    const struct bat_block_room *room)
{
    struct bat_checking *checking = &part->checking;
    enum bat_code code = bat_skim_load(part->skim, hot, &part->error);
    if (code != BAT_OK)
        return code;
    const struct bat_map *map = checking->map;
    bat_check_table(checking, hot, &part->near);
    bat_check_table_in_binary(checking, part->facts, hot);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++) {
        bat_check_table(checking, map->fragments[i], &(uint32_t){0});
        bat_check_table_in_binary(checking, part->facts, map->fragments[i]);
    }
    bat_check_function_blocks(checking, hot, room);
    bat_check_fragment_names(checking, part->facts, hot);
    return BAT_OK;
}

static void *check_part(void *context)
{
    struct part *part = context;
    part->checking.error = &part->error;
    struct bat_block_room *room = bat_block_room_new(&part->checking);
    part->code = room ? BAT_OK : BAT_ERR_MEMORY;
    for (uint32_t hot = part->first; hot < part->end && part->code == BAT_OK; hot++)
        part->code = check_function(part, hot, room);
    bat_block_room_free(room);
    return NULL;
}

/* --- Findings of the second part ------------------------------------------------------------ */

static void tell_kept(struct part *part)
{
    for (uint32_t i = 0; i < part->kept_count && part->receive; i++)
        part->receive(&part->kept[i], part->context);
    part->kept_count = 0;
}

/* Keep a finding, or wait until it may be told: findings come in the order of functions. */
static void receive_later(const struct bat_finding *finding, void *context)
{
    struct part *part = context;
    if (!part->is_free && part->kept_count < KEPT_MAX) {
        part->kept[part->kept_count++] = *finding;
        return;
    }
    if (!part->is_free)
        sem_wait(part->first_is_done);
    part->is_free = true;
    tell_kept(part);
    if (part->receive)
        part->receive(finding, part->context);
}

/* --- Both parts ------------------------------------------------------------------------------- */

static void add_verdict(struct bat_verdict *verdict, const struct bat_verdict *more)
{
    verdict->notes += more->notes;
    verdict->warnings += more->warnings;
    verdict->errors += more->errors;
}

/* The first part, and beside it the second if there is a thread for it, else after it. */
static void run_parts(struct part *first, struct part *second)
{
    sem_t done;
    pthread_t thread;
    sem_init(&done, 0, 0);
    second->first_is_done = &done;
    bool has_thread = pthread_create(&thread, NULL, check_part, second) == 0;
    check_part(first);
    sem_post(&done);
    if (has_thread)
        pthread_join(thread, NULL);
    else
        check_part(second);
    tell_kept(second);
    sem_destroy(&done);
}

/* Where both halves of the entries are about as many. */
static uint32_t find_middle(const struct bat_map *map, uint64_t entries)
{
    uint64_t sum = 0;
    uint32_t hot = 0;
    while (hot < map->hot_count && sum < entries / 2)
        sum += map->functions[hot++].entry_count;
    return hot;
}

static enum bat_code check_halves(struct bat_checking *checking, struct bat_skim *skim,
                                  const struct bat_binary_facts *facts)
{
    struct bat_skim other;
    struct bat_verdict verdict = {0};
    enum bat_code code = bat_skim_share(skim, &other, checking->error);
    if (code != BAT_OK)
        return code;
    uint64_t entries = 0;
    for (uint32_t hot = 0; hot < skim->map->hot_count; hot++)
        entries += skim->map->functions[hot].entry_count;
    uint32_t middle = find_middle(skim->map, entries);
    struct part first = {.checking = *checking, .skim = skim, .end = middle, .facts = facts};
    struct part second = {.checking = *checking,
                          .skim = &other,
                          .first = middle,
                          .end = skim->map->hot_count,
                          .facts = facts,
                          .receive = checking->receive,
                          .context = checking->context,
                          .kept = malloc(KEPT_MAX * sizeof(*second.kept))};
    second.checking.map = other.map;
    second.checking.verdict = &verdict;
    second.checking.receive = receive_later;
    second.checking.context = &second;
    if (second.kept)
        run_parts(&first, &second);
    else
        first.code = bat_fail(&first.error, BAT_ERR_MEMORY, "not enough memory for the checks");
    add_verdict(checking->verdict, &verdict);
    const struct part *failed = first.code != BAT_OK ? &first : &second;
    code = failed->code;
    if (code != BAT_OK && checking->error)
        *checking->error = failed->error;
    free(second.kept);
    bat_skim_leave(&other);
    return code;
}

static enum bat_code check_all(struct bat_checking *checking, struct bat_skim *skim)
{
    struct bat_binary_facts *facts;
    enum bat_code code = bat_binary_facts_collect(checking, &facts);
    if (code == BAT_OK)
        code = check_halves(checking, skim, facts);
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
