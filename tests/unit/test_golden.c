/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The notes in tests/data: those in good/ decode, and encode to the same bytes; those in bad/ are
 * refused with the code and at the place in bad/expected.txt.
 */
#include <dirent.h>
#include <inttypes.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "folder.h"
#include "kept.h"
#include "unit_test.h"

static char *read_file(const char *folder, const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s/%s", TEST_DATA, folder, name);
    return file_bytes(path, size);
}

static void check_good(const char *name)
{
    size_t size;
    char *bytes = read_file("good", name, &size);
    struct bat_map *map;
    struct bat_error error;
    if (bat_decode(bytes, size, NULL, &map, &error) != BAT_OK)
        fail_msg("%s: %s", name, error.message);
    bool merged = strstr(name, "atend-19") != NULL;
    assert_int_equal(map->hot_index, merged ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE);
    size_t again_size;
    uint8_t *again = encode_map(kept_map(map), &again_size);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, bytes, size);
}

TEST(good_notes_round_trip)
{
    DIR *folder = opendir(TEST_DATA "/good");
    assert_non_null(folder);
    unsigned checked = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        check_good(entry->d_name);
        checked++;
    }
    closedir(folder);
    assert_in_range(checked, 10, 1000);
}

static void check_bad(const char *name, const char *code, const char *offset)
{
    size_t size;
    char *bytes = read_file("bad", name, &size);
    struct bat_map *map = (struct bat_map *)bytes; /* anything but NULL */
    struct bat_error error = {.code = BAT_OK};
    enum bat_code result = bat_decode(bytes, size, NULL, &map, &error);
    if (result == BAT_OK)
        fail_msg("%s was decoded", name);
    assert_null(map);
    assert_int_equal(error.code, result);
    if (strcmp(bat_code_name(result), code) != 0)
        fail_msg("%s: %s instead of %s: %s", name, bat_code_name(result), code, error.message);
    if (*offset != '-' && error.offset != strtoull(offset, NULL, 10))
        fail_msg("%s: at %" PRIu64 " instead of %s: %s", name, error.offset, offset, error.message);
    assert_int_equal(error.place, BAT_PLACE_SECTION);
    assert_non_null(strstr(error.message, "expected"));
    assert_non_null(strstr(error.message, "found"));
}

TEST(bad_notes_are_refused)
{
    FILE *list = fopen(TEST_DATA "/bad/expected.txt", "r");
    assert_non_null(list);
    char line[256];
    unsigned checked = 0;
    while (fgets(line, sizeof(line), list)) {
        char name[64], code[32], offset[32];
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%63s %31s %31s", name, code, offset), 3);
        check_bad(name, code, offset);
        checked++;
    }
    fclose(list);
    assert_in_range(checked, 30, 1000);
}
