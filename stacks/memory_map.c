/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolizer.h"

#include <search.h>
#include <stdlib.h>

/* Mappings that overlap compare equal: no two mappings of a tree overlap. */
static int compare_mappings(const void *left, const void *right)
{
    const struct memory_mapping *a = left;
    const struct memory_mapping *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->end <= b->start ? -1 : a->start >= b->end;
}

static int compare_processes(const void *left, const void *right)
{
    const struct memory_mapping *a = left;
    const struct memory_mapping *b = right;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

void memory_map_free(struct memory_map *map)
{
    tdestroy(map->of_process, free);
    tdestroy(map->of_any, free);
    tdestroy(map->biases, free);
    *map = (struct memory_map){0};
}

static struct memory_mapping *insert(void **tree, const struct memory_mapping *mapping,
                                     int (*compare)(const void *, const void *))
{
    struct memory_mapping *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *mapping;
    struct memory_mapping **place = tsearch(copy, tree, compare);
    if (!place || *place != copy)
        free(copy);
    return place ? *place : NULL;
}

/* Add a mapping. Mappings that it overlaps keep their parts in front of it and behind it. */
static void overlay(void **tree, const struct memory_mapping *mapping)
{
    struct memory_mapping *const *found;
    while ((found = tfind(mapping, tree, compare_mappings)) != NULL) {
        struct memory_mapping *old = *found;
        struct memory_mapping front = *old;
        struct memory_mapping behind = *old;
        tdelete(old, tree, compare_mappings);
        free(old);
        front.end = mapping->start;
        behind.start = mapping->end;
        behind.file_offset += mapping->end - front.start;
        if (front.start < front.end)
            insert(tree, &front, compare_mappings);
        if (behind.start < behind.end)
            insert(tree, &behind, compare_mappings);
    }
    insert(tree, mapping, compare_mappings);
}

void memory_map_add(struct memory_map *map, const struct memory_mapping *mapping)
{
    struct memory_mapping of_any = *mapping;
    of_any.pid = 0;
    overlay(&map->of_process, mapping);
    overlay(&map->of_any, &of_any);
}

const struct memory_mapping *memory_map_find(const struct memory_map *map, uint64_t pid,
                                             uint64_t address)
{
    struct memory_mapping wanted = {.pid = pid, .start = address, .end = address + 1};
    if (wanted.end == 0)
        return NULL;
    struct memory_mapping *const *found = tfind(&wanted, &map->of_process, compare_mappings);
    wanted.pid = 0;
    if (!found)
        found = tfind(&wanted, &map->of_any, compare_mappings);
    return found ? *found : NULL;
}

void memory_map_set_bias(struct memory_map *map, uint64_t pid, uint64_t bias)
{
    const struct memory_mapping wanted = {.pid = pid};
    struct memory_mapping *kept = insert(&map->biases, &wanted, compare_processes);
    if (kept)
        kept->start = bias;
}

bool memory_map_bias(const struct memory_map *map, uint64_t pid, uint64_t *bias)
{
    const struct memory_mapping wanted = {.pid = pid};
    struct memory_mapping *const *found = tfind(&wanted, &map->biases, compare_processes);
    if (found)
        *bias = (*found)->start;
    return found != NULL;
}
