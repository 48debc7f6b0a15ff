/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whose mappings are whose: the binaries of each mapped file, by build-id if known, else by name.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "processes.h"
#include "spec/array.h"

/* The binaries by build-id and by name. Those with equal ones are chained: number + 1, or 0. */
struct index {
    const struct perf_binary *binaries;
    uint32_t count;
    struct bat_counts ids; /* build-id in three words: number + 1 */
    struct bat_strings names;
    /* Each binary has two names, 2 * number and 2 * number + 1; the chains are of these, + 1. */
    uint32_t *first_of_name; /* of each string */
    uint32_t *next_of_id;
    uint32_t *next_of_name;
    uint32_t *last_file; /* the last file that the binary was found for: number + 1 */
};

/* --- The index ---------------------------------------------------------------------------- */

/* A build-id as a key: padded with zeros. */
static void make_key(uint64_t key[3], const uint8_t *build_id, size_t size)
{
    memset(key, 0, 3 * sizeof(*key));
    memcpy(key, build_id, size < PERF_BUILD_ID_SIZE ? size : PERF_BUILD_ID_SIZE);
}

static uint32_t first_of_id(const struct index *index, const uint8_t *build_id, size_t size)
{
    uint64_t key[3];
    make_key(key, build_id, size);
    const uint64_t *item = bat_counts_find(&index->ids, key);
    return item ? (uint32_t)item[3] : 0;
}

static enum bat_code index_name(struct index *index, const char *text, uint32_t number)
{
    uint32_t name;
    BAT_TRY(bat_strings_add(&index->names, text, strlen(text), &name));
    index->next_of_name[number] = index->first_of_name[name];
    index->first_of_name[name] = number + 1;
    return BAT_OK;
}

static enum bat_code index_binary(struct index *index, uint32_t number)
{
    const struct perf_binary *binary = &index->binaries[number];
    uint64_t key[3];
    enum bat_code code = BAT_OK;
    if (binary->build_id_size != 0) {
        uint32_t first = first_of_id(index, binary->build_id, binary->build_id_size);
        make_key(key, binary->build_id, binary->build_id_size);
        /* A binary of the same build-id goes behind the first. */
        if (first != 0) {
            index->next_of_id[number] = index->next_of_id[first - 1];
            index->next_of_id[first - 1] = number + 1;
        } else {
            code = bat_counts_add(&index->ids, key, (uint64_t)number + 1, 0);
        }
    }
    code = code ? code : index_name(index, binary->mapped_name, 2 * number);
    if (code == BAT_OK && binary->linked_name[0] != '\0' && !binary->is_kernel)
        code = index_name(index, binary->linked_name, 2 * number + 1);
    return code;
}

static enum bat_code index_make(struct index *index, const struct perf_processes *processes)
{
    size_t count = (size_t)processes->binary_count + 1;
    *index = (struct index){.binaries = processes->binaries,
                            .count = processes->binary_count,
                            .ids = bat_counts_new(3),
                            .first_of_name = calloc(2 * count, sizeof(uint32_t)),
                            .next_of_id = calloc(count, sizeof(uint32_t)),
                            .next_of_name = calloc(2 * count, sizeof(uint32_t)),
                            .last_file = calloc(count, sizeof(uint32_t))};
    if (!index->first_of_name || !index->next_of_id || !index->next_of_name || !index->last_file)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < index->count; i++)
        BAT_TRY(index_binary(index, i));
    return BAT_OK;
}

/* --- Owners ------------------------------------------------------------------------------- */

void perf_owners_free(struct perf_owners *owners)
{
    BAT_FREE_ALL(owners->starts, owners->list);
    *owners = (struct perf_owners){0};
}

static enum bat_code add_owner(struct perf_owners *owners, struct perf_owner owner)
{
    return BAT_APPEND(owners->list, owners->count, owners->capacity, owner) ? BAT_OK
                                                                            : BAT_ERR_MEMORY;
}

/* A mapped file. */
struct file {
    uint32_t number;
    const char *path;
    const struct perf_object *object;
    const uint8_t *build_id; /* the mapping's own */
    uint32_t build_id_size;  /* 0 if it is not known */
};

static struct file get_file(const struct perf_processes *processes, uint32_t number)
{
    const uint64_t *key = bat_counts_item(&processes->files, number);
    struct file file = {.number = number,
                        .path = bat_strings_get(&processes->names, (uint32_t)key[0]),
                        .object = &processes->objects[key[0]],
                        .build_id = (const uint8_t *)(key + 1)};
    memcpy(&file.build_id_size, file.build_id + PERF_BUILD_ID_SIZE, sizeof(file.build_id_size));
    return file;
}

static enum bat_code add_by_id(struct index *index, struct perf_owners *owners, uint32_t file,
                               const uint8_t *build_id, size_t size, bool knows_size)
{
    enum bat_code code = BAT_OK;
    for (uint32_t next = first_of_id(index, build_id, size); next != 0 && code == BAT_OK;
         next = index->next_of_id[next - 1]) {
        uint32_t number = next - 1;
        if (index->last_file[number] == file + 1 ||
            perf_binary_match_build_id(&index->binaries[number], build_id, size, knows_size) !=
                PERF_MATCH_YES)
            continue;
        index->last_file[number] = file + 1;
        code = add_owner(owners, (struct perf_owner){.binary = number});
    }
    return code;
}

/* Add the binaries of the file's name that do not have its build-id, unless they have another. */
static enum bat_code add_by_name(struct index *index, struct perf_owners *owners,
                                 const struct file *file, const char *path)
{
    size_t size;
    const char *name = perf_base_name(path, &size);
    uint32_t string = bat_strings_find(&index->names, name, size);
    bool has_id = file->build_id_size != 0 || file->object->listed != 0;
    enum bat_code code = BAT_OK;
    for (uint32_t next = string == BAT_NONE ? 0 : index->first_of_name[string];
         next != 0 && code == BAT_OK; next = index->next_of_name[next - 1]) {
        uint32_t number = (next - 1) / 2;
        const struct perf_binary *binary = &index->binaries[number];
        if (index->last_file[number] == file->number + 1)
            continue;
        index->last_file[number] = file->number + 1;
        bool is_other = has_id && binary->build_id_size != 0 && !binary->ignore_build_id;
        code = add_owner(owners, (struct perf_owner){.binary = number, .is_other_build = is_other});
    }
    return code;
}

/*
 * A recording that was not the kernel's alone may name a link. It is followed on this machine, if
 * neither its name nor a build-id says whose it is.
 */
static enum bat_code add_by_link(struct index *index, struct perf_owners *owners,
                                 const struct file *file)
{
    struct stat status;
    if (file->path[0] != '/' || lstat(file->path, &status) != 0 || !S_ISLNK(status.st_mode))
        return BAT_OK;
    char *real = realpath(file->path, NULL);
    enum bat_code code = real ? add_by_name(index, owners, file, real) : BAT_OK;
    free(real);
    return code;
}

static enum bat_code add_owners(struct index *index, struct perf_owners *owners,
                                const struct perf_processes *processes, uint32_t number)
{
    const struct file file = get_file(processes, number);
    enum bat_code code = BAT_OK;
    if (file.build_id_size != 0)
        code = add_by_id(index, owners, number, file.build_id, file.build_id_size, true);
    /* A mapping of a path whose build-id is not known occurs once among the files. */
    uint32_t next = file.build_id_size == 0 ? file.object->listed : 0;
    for (; next != 0 && code == BAT_OK; next = processes->listings[next - 1].next) {
        const struct perf_listing *listing = &processes->listings[next - 1];
        code =
            add_by_id(index, owners, number, listing->build_id, listing->size, listing->knows_size);
    }
    code = code ? code : add_by_name(index, owners, &file, file.path);
    const bool is_unknown = owners->count == owners->starts[number];
    if (code == BAT_OK && is_unknown && file.build_id_size == 0 && file.object->listed == 0)
        code = add_by_link(index, owners, &file);
    return code;
}

enum bat_code perf_owners_find(struct perf_owners *owners, const struct perf_processes *processes)
{
    struct index index;
    *owners = (struct perf_owners){
        .starts = calloc((size_t)processes->files.count + 1, sizeof(*owners->starts))};
    enum bat_code code = index_make(&index, processes);
    if (!owners->starts)
        code = BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < processes->files.count && code == BAT_OK; i++) {
        code = add_owners(&index, owners, processes, i);
        owners->starts[i + 1] = owners->count;
    }
    bat_counts_free(&index.ids);
    bat_strings_free(&index.names);
    BAT_FREE_ALL(index.first_of_name, index.next_of_id, index.next_of_name, index.last_file);
    return code;
}
