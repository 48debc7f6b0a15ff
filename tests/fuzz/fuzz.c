/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fuzz.h"

#include "bat_decoder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Noreturn void fuzz_fail(const char *sentence)
{
    fprintf(stderr, "expected that %s, found otherwise\n", sentence);
    abort();
}

void fuzz_expect_error(enum bat_code code, const struct bat_error *error, uint64_t size)
{
    fuzz_expect(error->code == code, "the error has the code that was returned");
    fuzz_expect(code > BAT_OK && code < BAT_ERR_CODES, "the code is a known one");
    size_t length = strnlen(error->message, sizeof(error->message));
    fuzz_expect(length > 0 && length < sizeof(error->message), "the error has a sentence");
    /* An error about data beyond the end of a file has the place where they should be. */
    if (error->place == BAT_PLACE_SECTION)
        fuzz_expect(error->offset == BAT_NO_OFFSET || error->offset <= size,
                    "the error's place lies inside the input");
    if (error->place == BAT_PLACE_TEXT)
        fuzz_expect(error->line >= 1 && error->column >= 1, "lines and columns count from 1");
}

static bool same(const void *left, const void *right, uint64_t count, size_t size)
{
    return count == 0 || memcmp(left, right, (size_t)count * size) == 0;
}

/* Where a table's ranges start in the map's arrays is left open. */
static bool same_tables(struct bat_table left, struct bat_table right)
{
    left.first_entry = right.first_entry = 0;
    left.first_block = right.first_block = 0;
    left.first_secondary = right.first_secondary = 0;
    return memcmp(&left, &right, sizeof(left)) == 0;
}

/* What the arrays of two maps have for a table that is the same in both. */
static void expect_equal_contents(const struct bat_map *left_map, const struct bat_table *left,
                                  const struct bat_map *right_map, const struct bat_table *right)
{
    fuzz_expect(left->entry_count == 0 ||
                    (same(left_map->output_offsets + left->first_entry,
                          right_map->output_offsets + right->first_entry, left->entry_count, 4) &&
                     same(left_map->input_offsets + left->first_entry,
                          right_map->input_offsets + right->first_entry, left->entry_count, 4)),
                "both maps have the same entries");
    fuzz_expect(left->block_count == 0 || !bat_map_has_hashes(left_map) ||
                    (same(left_map->block_hashes + left->first_block,
                          right_map->block_hashes + right->first_block, left->block_count, 8) &&
                     same(left_map->block_indices + left->first_block,
                          right_map->block_indices + right->first_block, left->block_count, 4)),
                "both maps have the same blocks");
    fuzz_expect(left->secondary_count == 0 ||
                    same(left_map->secondary_entries + left->first_secondary,
                         right_map->secondary_entries + right->first_secondary,
                         left->secondary_count, 4),
                "both maps have the same secondary entry points");
}

void fuzz_expect_equal_maps(const struct bat_map *left, const struct bat_map *right)
{
    fuzz_expect(left->version == right->version && left->hot_index == right->hot_index,
                "both maps have the same version and hot indices");
    fuzz_expect(left->has_prefixes == right->has_prefixes, "both maps have prefixes or neither");
    fuzz_expect(left->hot_count == right->hot_count && left->cold_count == right->cold_count &&
                    left->entry_count == right->entry_count &&
                    left->block_count == right->block_count &&
                    left->secondary_count == right->secondary_count,
                "both maps have the same counts");
    bool has_hashes = bat_map_has_hashes(left);
    fuzz_expect(has_hashes == (left->block_hashes != NULL) &&
                    has_hashes == (left->block_indices != NULL),
                "there are hashes and indices where the version has them");
    uint32_t tables = bat_map_tables(left);
    fuzz_expect(same(left->by_address, right->by_address, tables, 4) &&
                    same(left->fragment_start, right->fragment_start, left->hot_count + 1ull, 4) &&
                    same(left->fragments, right->fragments, left->cold_count, 4),
                "both maps have the same order of tables");
    for (uint32_t i = 0; i < tables; i++) {
        fuzz_expect(same_tables(left->tables[i], right->tables[i]),
                    "both maps have the same tables");
        expect_equal_contents(left, &left->tables[i], right, &right->tables[i]);
    }
}

static void write_all(int file, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size != 0) {
        ssize_t written = write(file, at, size);
        fuzz_expect(written > 0, "a file in memory can be written");
        at += written;
        size -= (size_t)written;
    }
}

enum bat_code fuzz_decode(const void *section, size_t size, enum bat_hot_index hot_index,
                          struct bat_map **map, struct bat_error *error)
{
    const struct bat_decode_options options = {.size = sizeof(options), .hot_index = hot_index};
    return bat_decode(section, size, &options, map, error);
}

int fuzz_memory_file(const void *bytes, size_t size)
{
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_expect(file >= 0, "there can be a file in memory");
    write_all(file, bytes, size);
    fuzz_expect(lseek(file, 0, SEEK_SET) == 0, "a file in memory can be read from its start");
    return file;
}

static char folder[4096];

static void remove_folder(void)
{
    /* The targets remove their files; after a crash, the runner does. */
    rmdir(folder);
}

char *fuzz_path(const char *name)
{
    if (!*folder) {
        const char *parent = getenv("TMPDIR");
        if (!parent)
            parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(folder, sizeof(folder), "%s/batkit-fuzz-XXXXXX", parent);
        fuzz_expect(mkdtemp(folder) != NULL, "there can be a folder for temporary files");
        atexit(remove_folder);
    }
    char *path;
    fuzz_expect(asprintf(&path, "%s/%s", folder, name) > 0, "there is memory for a path");
    return path;
}

void fuzz_write_file(const char *path, const void *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_expect(file >= 0, "a temporary file can be opened");
    write_all(file, bytes, size);
    close(file);
}
