/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes nested runs of addresses into a map from each address to its innermost node. */
#include <stdlib.h>

#include "debuginfo.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"

/* Runs that contain the current address, the innermost (the last node) on top. */
struct heap {
    const struct debug_run *runs;
    uint32_t *items;
    size_t count;
};

static bool is_inner(const struct heap *heap, size_t a, size_t b)
{
    return heap->runs[heap->items[a]].node > heap->runs[heap->items[b]].node;
}

static void swap(struct heap *heap, size_t a, size_t b)
{
    uint32_t item = heap->items[a];
    heap->items[a] = heap->items[b];
    heap->items[b] = item;
}

static void push(struct heap *heap, uint32_t run)
{
    size_t place = heap->count++;
    heap->items[place] = run;
    while (place > 0 && is_inner(heap, place, (place - 1) / 2)) {
        swap(heap, place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
}

static void pop(struct heap *heap)
{
    heap->items[0] = heap->items[--heap->count];
    for (size_t place = 0;;) {
        size_t top = place;
        for (size_t child = 2 * place + 1; child <= 2 * place + 2 && child < heap->count; child++)
            if (is_inner(heap, child, top))
                top = child;
        if (top == place)
            return;
        swap(heap, place, top);
        place = top;
    }
}

/* Addresses from start on belong to node. */
static void append(struct debug_map *map, uint64_t start, uint32_t node)
{
    if (map->count > 0 && map->starts[map->count - 1] == start)
        map->count--;
    if (map->count > 0 && map->nodes[map->count - 1] == node)
        return;
    map->starts[map->count] = start;
    map->nodes[map->count++] = node;
}

/* Remove the runs that end at or before until; from each end on, the run below is the innermost. */
static void leave(struct debug_map *map, struct heap *heap, uint64_t until)
{
    while (heap->count > 0 && heap->runs[heap->items[0]].end <= until) {
        uint64_t end = heap->runs[heap->items[0]].end;
        pop(heap);
        while (heap->count > 0 && heap->runs[heap->items[0]].end <= end)
            pop(heap);
        append(map, end, heap->count > 0 ? heap->runs[heap->items[0]].node : BAT_NONE);
    }
}

/* Go through the runs by their starts, which order has, with the positions of the runs. */
static void fill(struct debug_map *map, struct heap *heap, const struct bat_sort_key *order,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        leave(map, heap, order[i].key);
        push(heap, (uint32_t)order[i].value);
        append(map, order[i].key, heap->runs[heap->items[0]].node);
    }
    leave(map, heap, UINT64_MAX);
}

bool debug_map_make(struct debug_map *map, const struct debug_run *runs, size_t count)
{
    *map = (struct debug_map){0};
    if (count == 0)
        return true;
    /* Each start and each end makes at most one entry. */
    map->starts = malloc((2 * count + 1) * sizeof(*map->starts));
    map->nodes = malloc((2 * count + 1) * sizeof(*map->nodes));
    struct heap heap = {.runs = runs, .items = malloc(count * sizeof(*heap.items))};
    struct bat_sort_key *order = malloc(2 * count * sizeof(*order));
    const bool has_memory = map->starts && map->nodes && heap.items && order;
    if (has_memory) {
        for (size_t i = 0; i < count; i++)
            order[i] = (struct bat_sort_key){runs[i].start, i};
        fill(map, &heap, bat_sort_keys(order, order + count, count), count);
        BAT_SHRINK(map->starts, map->count);
        BAT_SHRINK(map->nodes, map->count);
    } else {
        BAT_FREE_ALL(map->starts, map->nodes);
        *map = (struct debug_map){0};
    }
    BAT_FREE_ALL(heap.items, order);
    return has_memory;
}

uint32_t debug_map_find(struct debug_map *map, uint64_t address)
{
    size_t last = map->last;
    if (map->count == 0 || address < map->starts[0])
        return BAT_NONE;
    if (map->starts[last] > address)
        last = 0;
    for (unsigned i = 0; i < DEBUG_NEAR; i++, last++)
        if (last + 1 == map->count || map->starts[last + 1] > address) {
            map->last = last;
            return map->nodes[last];
        }
    last += BAT_NUMBERS_UP_TO(map->starts + last, map->count - last, address) - 1;
    map->last = last;
    return map->nodes[last];
}
