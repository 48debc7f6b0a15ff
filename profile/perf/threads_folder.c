/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stream.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "spec/order.h"

#define FIRST "data"

/* The number of "data.N", which perf writes without leading zeros; false for any other name. */
static bool parse_number(const char *name, unsigned long *number)
{
    static const char prefix[] = FIRST ".";
    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return false;
    const char *digits = name + sizeof(prefix) - 1;
    if (!*digits || digits[strspn(digits, "0123456789")] || (digits[0] == '0' && digits[1]))
        return false;
    *number = strtoul(digits, NULL, 10);
    return true;
}

static int is_piece(const struct dirent *entry)
{
    unsigned long number;
    return parse_number(entry->d_name, &number);
}

/* There are no leading zeros: a longer number is larger. */
static int by_number(const struct dirent **left, const struct dirent **right)
{
    const size_t one = strlen((*left)->d_name);
    const size_t other = strlen((*right)->d_name);
    return one != other ? (one < other ? -1 : 1) : strcmp((*left)->d_name, (*right)->d_name);
}

static enum bat_code open_piece(int folder, const char *name, struct perf_pieces *pieces,
                                struct bat_error *error)
{
    struct stat status;
    int file = bat_regular_open(folder, name);
    if (file < 0 && errno == ENOENT)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a file, or a folder that perf record --threads made, found a "
                        "folder without \"%s\"",
                        name);
    if (file < 0 && (errno == EISDIR || errno == ENXIO))
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected regular files in the folder, found \"%.32s\", which is none",
                        name);
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%.32s: %s", name, strerror(errno));
    pieces->items[pieces->count++] = (struct perf_piece){.file = file};
    if (fstat(file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%.32s: %s", name, strerror(errno));
    pieces->items[pieces->count - 1].size = (uint64_t)status.st_size;
    return BAT_OK;
}

/* perf numbers the files from 0 on. Without one of them samples would be missing. */
static enum bat_code check_numbers(struct dirent *const *entries, int count,
                                   struct bat_error *error)
{
    for (int i = 0; i < count; i++) {
        unsigned long number = 0;
        parse_number(entries[i]->d_name, &number);
        if (number == (unsigned long)i)
            continue;
        unsigned long last = 0;
        parse_number(entries[count - 1]->d_name, &last);
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected the files " FIRST ".0 to " FIRST
                        ".%lu in the folder, found no " FIRST ".%d",
                        last, i);
    }
    return BAT_OK;
}

enum bat_code perf_folder_open(int folder, struct perf_pieces *pieces, struct bat_error *error)
{
    struct dirent **entries = NULL;
    int count = scandirat(folder, ".", &entries, is_piece, by_number);
    if (count < 0)
        return bat_fail(error, BAT_ERR_IO, "reading the folder: %s", strerror(errno));
    pieces->items = calloc((size_t)count + 1, sizeof(*pieces->items));
    enum bat_code code = pieces->items ? open_piece(folder, FIRST, pieces, error)
                                       : bat_fail_memory(error, "to read the profile");
    code = code ? code : check_numbers(entries, count, error);
    for (int i = 0; i < count; i++) {
        code = code ? code : open_piece(folder, entries[i]->d_name, pieces, error);
        free(entries[i]);
    }
    free(entries);
    return code;
}

void perf_folder_close(struct perf_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        close(pieces->items[i].file);
    free(pieces->items);
    *pieces = (struct perf_pieces){0};
}

uint64_t perf_pieces_arrange(struct perf_pieces *pieces, uint64_t first_size)
{
    uint64_t end = 0;
    pieces->items[0].size = first_size;
    for (uint32_t i = 0; i < pieces->count; i++) {
        pieces->items[i].start = end;
        end += pieces->items[i].size;
    }
    return end;
}

uint32_t perf_pieces_at(const struct perf_pieces *pieces, uint64_t place)
{
    uint32_t behind = BAT_COUNT_UP_TO(pieces->items, pieces->count, start, place);
    return behind - 1;
}
