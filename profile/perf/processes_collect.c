/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Collecting the events of processes. owners.c tells whose they are, processes_spans.c sorts them.
 */
#include "processes.h"

#include <string.h>

#include "spec/array.h"
#include "spec/little_endian.h"

void perf_processes_init(struct perf_processes *processes, const struct perf_binary *binaries,
                         uint32_t binary_count)
{
    *processes = (struct perf_processes){.binaries = binaries,
                                         .binary_count = binary_count,
                                         .files = bat_counts_new(PERF_FILE_WORDS),
                                         .table = bat_counts_new(1)};
}

void perf_processes_free(struct perf_processes *processes)
{
    bat_strings_free(&processes->names);
    bat_counts_free(&processes->files);
    bat_counts_free(&processes->table);
    BAT_FREE_ALL(processes->objects, processes->listings, processes->events, processes->spans,
                 processes->changes, processes->found);
    perf_processes_init(processes, NULL, 0);
}

enum bat_code perf_processes_name(struct perf_processes *processes, const char *path,
                                  uint32_t *number)
{
    enum bat_code code = bat_strings_add(&processes->names, path, strlen(path), number);
    if (code == BAT_OK && !bat_reserve_cleared(&processes->objects, &processes->object_capacity,
                                               (size_t)*number + 1, sizeof(*processes->objects)))
        code = BAT_ERR_MEMORY;
    return code;
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

/* False for a build-id of which nothing is known: none, or all zeros. */
static bool is_usable(const uint8_t *build_id, size_t size)
{
    for (size_t i = 0; i < size && i < PERF_BUILD_ID_SIZE; i++)
        if (build_id[i] != 0)
            return true;
    return false;
}

static enum bat_code add_listing(struct perf_processes *processes, struct perf_listing listing)
{
    return BAT_APPEND(processes->listings, processes->listing_count, processes->listing_capacity,
                      listing)
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

enum bat_code perf_processes_list(struct perf_processes *processes, const char *path,
                                  const uint8_t *build_id, size_t size, bool knows_size)
{
    uint32_t number;
    BAT_TRY(perf_processes_name(processes, path, &number));
    struct perf_object *object = &processes->objects[number];
    note_build_id(object, build_id, size);
    if (!is_usable(build_id, size))
        return BAT_OK;
    if (size > PERF_BUILD_ID_SIZE)
        size = PERF_BUILD_ID_SIZE;
    struct perf_listing listing = {
        .size = (uint8_t)size, .knows_size = knows_size, .next = object->listed};
    memcpy(listing.build_id, build_id, size);
    BAT_TRY(add_listing(processes, listing));
    object->listed = processes->listing_count;
    return BAT_OK;
}

/* The number of a mapped file: of its path and its own build-id, which is zeros if not known. */
static enum bat_code find_file(struct perf_processes *processes, uint32_t object,
                               const uint8_t *build_id, size_t size, uint32_t *number)
{
    uint64_t key[PERF_FILE_WORDS] = {object};
    if (size > PERF_BUILD_ID_SIZE)
        size = PERF_BUILD_ID_SIZE;
    if (build_id && is_usable(build_id, size)) {
        memcpy(key + 1, build_id, size);
        memcpy((uint8_t *)(key + 1) + PERF_BUILD_ID_SIZE, &(uint32_t){(uint32_t)size},
               sizeof(uint32_t));
    }
    BAT_TRY(bat_counts_add(&processes->files, key, 0, 0));
    const uint64_t *item = bat_counts_find(&processes->files, key);
    *number = (uint32_t)((size_t)(item - processes->files.items) / (PERF_FILE_WORDS + 2));
    return BAT_OK;
}

/* True if an event changes nothing behind the last one, which was the same at the same time. */
static bool is_repeated(const struct perf_processes *processes, const struct perf_event *event)
{
    if (processes->event_count == 0)
        return false;
    const struct perf_event *last = &processes->events[processes->event_count - 1];
    return last->kind == event->kind && last->process == event->process &&
           last->moment.time == event->moment.time && last->other == event->other &&
           last->is_stext == event->is_stext && last->address == event->address &&
           last->length == event->length && last->offset == event->offset;
}

static enum bat_code add_event(struct perf_processes *processes, struct perf_event event)
{
    if (is_repeated(processes, &event))
        return BAT_OK;
    return BAT_APPEND(processes->events, processes->event_count, processes->event_capacity, event)
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

/*
 * True for memory without a file, and for what the kernel maps into every process. Such memory does
 * not replace a file that was at its addresses: code may have been copied there (BOLT's --hugify).
 */
static bool is_memory(const char *path)
{
    static const char *const starts[] = {"[", "//", "/anon_hugepage", "/dev/zero", "/SYSV"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return true;
    return path[0] == '\0';
}

enum bat_code perf_processes_map(struct perf_processes *processes,
                                 const struct perf_mapping *mapping)
{
    static const char kernel[] = PERF_KERNEL_NAME;
    const size_t kernel_size = sizeof(kernel) - 1;
    bool is_kernel =
        mapping->process == PERF_KERNEL_PROCESS && strncmp(mapping->path, kernel, kernel_size) == 0;
    if (mapping->is_data)
        return BAT_OK;
    const bool is_file = is_kernel || !is_memory(mapping->path);
    struct perf_event event = {.kind = is_file ? PERF_EVENT_MAP : PERF_EVENT_MEMORY,
                               .process = mapping->process,
                               .moment = mapping->moment,
                               .address = mapping->address,
                               .length = mapping->length,
                               .offset = mapping->offset};
    event.is_stext = is_kernel && strcmp(mapping->path + kernel_size, "_stext") == 0;
    uint32_t number;
    BAT_TRY(perf_processes_name(processes, is_kernel ? kernel : mapping->path, &number));
    if (!is_file) {
        event.other = number;
        return add_event(processes, event);
    }
    struct perf_object *object = &processes->objects[number];
    object->is_mapped = true;
    if (mapping->build_id)
        note_build_id(object, mapping->build_id, mapping->build_id_size);
    enum bat_code code =
        find_file(processes, number, mapping->build_id, mapping->build_id_size, &event.other);
    return code ? code : add_event(processes, event);
}

enum bat_code perf_processes_fork(struct perf_processes *processes, uint32_t process,
                                  uint32_t parent, struct perf_moment moment)
{
    if (process == parent)
        return BAT_OK;
    return add_event(processes, (struct perf_event){.kind = PERF_EVENT_FORK,
                                                    .process = process,
                                                    .other = parent,
                                                    .moment = moment});
}

enum bat_code perf_processes_exec(struct perf_processes *processes, uint32_t process,
                                  struct perf_moment moment)
{
    return add_event(processes, (struct perf_event){
                                    .kind = PERF_EVENT_EXEC, .process = process, .moment = moment});
}

enum bat_code perf_processes_list_files(const struct perf_processes *processes,
                                        bat_mapped_file_fn *found, void *context,
                                        struct bat_error *error)
{
    for (uint32_t i = 0; i < processes->files.count; i++) {
        const uint64_t *key = bat_counts_item(&processes->files, i);
        const struct perf_object *object = &processes->objects[key[0]];
        struct bat_mapped_file file = {.path = bat_strings_get(&processes->names, (uint32_t)key[0]),
                                       .build_id = object->build_id,
                                       .build_id_size = object->build_id_size};
        uint32_t own_size = bat_load32((const uint8_t *)(key + 1) + PERF_BUILD_ID_SIZE);
        if (own_size != 0) {
            file.build_id = (const uint8_t *)(key + 1);
            file.build_id_size = own_size;
        }
        BAT_TRY_MEMORY(found(&file, context), error, "for the mapped files");
    }
    return BAT_OK;
}
