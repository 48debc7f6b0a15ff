/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Collecting the events of processes. spans.c sorts them. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "history_event.h"

void perf_processes_init(struct perf_processes *processes, const struct perf_binary *binary)
{
    *processes = (struct perf_processes){.binary = binary, .table = bat_counts_new(1)};
}

void perf_processes_free(struct perf_processes *processes)
{
    bat_strings_free(&processes->names);
    bat_counts_free(&processes->table);
    free(processes->objects);
    free(processes->events);
    free(processes->spans);
    perf_processes_init(processes, NULL);
}

/* Find or add the object of a path. Its number is that of the path. */
static enum bat_code find_object(struct perf_processes *processes, const char *path,
                                 uint32_t *number)
{
    enum bat_code code = bat_strings_add(&processes->names, path, strlen(path), number);
    if (code != BAT_OK || *number < processes->object_capacity)
        return code;
    uint32_t capacity = processes->object_capacity ? processes->object_capacity * 2 : 64;
    struct perf_object *objects = realloc(processes->objects, capacity * sizeof(*objects));
    if (!objects)
        return BAT_ERR_MEMORY;
    memset(objects + processes->object_capacity, 0,
           (capacity - processes->object_capacity) * sizeof(*objects));
    processes->objects = objects;
    processes->object_capacity = capacity;
    return BAT_OK;
}

static void note_build_id(struct perf_object *object, const uint8_t *build_id, size_t size)
{
    if (size > PERF_BUILD_ID_SIZE)
        size = PERF_BUILD_ID_SIZE;
    if (object->build_id_size != 0 || size == 0)
        return;
    memcpy(object->build_id, build_id, size);
    object->build_id_size = (uint8_t)size;
}

enum bat_code perf_processes_list(struct perf_processes *processes, const char *path,
                                  const uint8_t *build_id, size_t size, bool knows_size)
{
    uint32_t number;
    enum bat_code code = find_object(processes, path, &number);
    if (code != BAT_OK)
        return code;
    struct perf_object *object = &processes->objects[number];
    note_build_id(object, build_id, size);
    enum perf_match match =
        perf_binary_match_build_id(processes->binary, build_id, size, knows_size);
    object->is_listed_as_binary |= match == PERF_MATCH_YES;
    object->is_listed_as_other |= match == PERF_MATCH_NO;
    return BAT_OK;
}

static enum bat_code add_event(struct perf_processes *processes, struct perf_event event)
{
    if (processes->event_count == processes->event_capacity) {
        size_t capacity = processes->event_capacity ? processes->event_capacity * 2 : 256;
        struct perf_event *events = realloc(processes->events, capacity * sizeof(*events));
        if (!events)
            return BAT_ERR_MEMORY;
        processes->events = events;
        processes->event_capacity = capacity;
    }
    processes->events[processes->event_count++] = event;
    return BAT_OK;
}

enum bat_code perf_processes_map(struct perf_processes *processes,
                                 const struct perf_mapping *mapping)
{
    /* Skip memory without a file, and what the kernel maps into every process. */
    if (mapping->path[0] == '[' || strncmp(mapping->path, "//", 2) == 0 || !mapping->path[0])
        return BAT_OK;
    struct perf_event event = {
        .kind = PERF_EVENT_MAP, .process = mapping->process, .moment = mapping->moment};
    enum bat_code code = find_object(processes, mapping->path, &event.object);
    if (code != BAT_OK)
        return code;
    struct perf_object *object = &processes->objects[event.object];
    object->is_mapped = true;
    if (mapping->build_id) {
        note_build_id(object, mapping->build_id, mapping->build_id_size);
        event.match = perf_binary_match_build_id(processes->binary, mapping->build_id,
                                                 mapping->build_id_size, true);
    }
    if (!perf_binary_bias(processes->binary, mapping->address, mapping->length, mapping->offset,
                          &event.bias))
        return BAT_OK;
    return add_event(processes, event);
}

enum bat_code perf_processes_fork(struct perf_processes *processes, uint32_t process,
                                  uint32_t parent, struct perf_moment moment)
{
    if (process == parent)
        return BAT_OK;
    return add_event(processes, (struct perf_event){.kind = PERF_EVENT_FORK,
                                                    .process = process,
                                                    .parent = parent,
                                                    .moment = moment});
}

enum bat_code perf_processes_exec(struct perf_processes *processes, uint32_t process,
                                  struct perf_moment moment)
{
    return add_event(processes, (struct perf_event){
                                    .kind = PERF_EVENT_EXEC, .process = process, .moment = moment});
}
