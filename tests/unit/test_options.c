/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* spec/options.c: option structures of programs that are older or newer than the library (bat.h).
 */
#include "bat_decoder.h"
#include "bat_encoder.h"
#include "bat_profile.h"
#include "bat_symbolizer.h"
#include "bat_validate.h"
#include "kept.h"
#include "spec/options.h"
#include "unit_test.h"

#define BOLTED TEST_DATA "/demo/small.bolt"
#define INPUT TEST_DATA "/demo/small"

/* What a library has, and what an older and a newer program give. */
struct now {
    size_t size;
    uint64_t first;
    uint64_t second;
};

struct before {
    size_t size;
    uint64_t first;
};

struct later {
    size_t size;
    uint64_t first;
    uint64_t second;
    uint8_t third[3];
};

static enum bat_code copy(struct now *own, const void *given, struct bat_error *error)
{
    memset(own, 0x5a, sizeof(*own));
    return bat_options_copy(own, sizeof(*own), given, "now", error);
}

static void assert_now(const struct now *own, uint64_t first, uint64_t second)
{
    assert_int_equal(own->size, sizeof(*own));
    assert_int_equal(own->first, first);
    assert_int_equal(own->second, second);
}

TEST(test_sizes)
{
    struct now own;
    assert_ok(copy(&own, NULL, NULL));
    assert_now(&own, 0, 0);
    const struct now same = {sizeof(same), 1, 2};
    assert_ok(copy(&own, &same, NULL));
    assert_now(&own, 1, 2);
    const struct before before = {sizeof(before), 3};
    assert_ok(copy(&own, &before, NULL));
    assert_now(&own, 3, 0);
    struct later later = {.size = sizeof(later), .first = 4, .second = 5};
    assert_ok(copy(&own, &later, NULL));
    assert_now(&own, 4, 5);
}

TEST(test_members_that_are_not_known)
{
    for (size_t i = 0; i < 3; i++) {
        struct later later = {.size = sizeof(later)};
        later.third[i] = 1;
        struct now own;
        struct bat_error error = {0};
        assert_int_equal(copy(&own, &later, &error), BAT_ERR_ARGUMENT);
        assert_int_equal(error.code, BAT_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "struct now"));
        assert_int_equal(copy(&own, &later, NULL), BAT_ERR_ARGUMENT);
    }
}

TEST(test_no_size)
{
    const size_t wrong[] = {0, 1, sizeof(size_t), 1 << 20, SIZE_MAX};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const struct now given = {wrong[i], 1, 2};
        struct now own;
        struct bat_error error = {0};
        assert_int_equal(copy(&own, &given, &error), BAT_ERR_ARGUMENT);
        assert_non_null(strstr(error.message, "expected the size of struct now"));
    }
}

/* Functions of the library that take options refuse those without their size. */
TEST(test_functions)
{
    static const uint8_t byte;
    const struct bat_decode_options decode = {.hot_index = BAT_HOT_INDEX_TABLE};
    struct bat_map *map = (struct bat_map *)&byte;
    struct bat_error error = {0};
    assert_int_equal(bat_decode(&byte, 1, &decode, &map, &error), BAT_ERR_ARGUMENT);
    assert_null(map);
    assert_non_null(strstr(error.message, "struct bat_decode_options"));

    struct bat_builder *builder = new_builder();
    const struct bat_builder_options build = {.hot_index = BAT_HOT_INDEX_TABLE};
    map = (struct bat_map *)&byte;
    assert_int_equal(bat_builder_finish(builder, &build, &map, &error), BAT_ERR_ARGUMENT);
    assert_null(map);
    assert_non_null(strstr(error.message, "struct bat_builder_options"));
}

TEST(test_functions_of_files)
{
    struct bat_error error = {0};
    struct bat_binary binary;
    assert_ok(bat_binary_open(BOLTED, &binary, &error));

    const struct bat_validate_options validate = {.round_trip = true};
    struct bat_verdict verdict = {.tables = 9};
    assert_int_equal(bat_validate(&binary, &validate, NULL, NULL, &verdict, &error),
                     BAT_ERR_ARGUMENT);
    assert_int_equal(verdict.tables, 0);
    assert_non_null(strstr(error.message, "struct bat_validate_options"));

    const struct bat_original_options pair = {.ignore_build_id = true};
    struct bat_original *original = (struct bat_original *)&binary;
    assert_int_equal(bat_original_open(INPUT, &binary, &pair, &original, &error), BAT_ERR_ARGUMENT);
    assert_null(original);
    assert_non_null(strstr(error.message, "struct bat_original_options"));

    /* A profile that was moved is translated with options like any other. */
    struct bat_profile *profile;
    struct bat_profile *moved;
    struct bat_records *records = (struct bat_records *)&binary;
    const struct bat_translate_options translate = {.keep_all_records = true};
    assert_ok(bat_original_open(INPUT, &binary, NULL, &original, &error));
    assert_ok(bat_profile_new_of(&binary, &profile, &error));
    assert_ok(bat_profile_to_input(profile, &binary, original, &moved, NULL, &error));
    assert_int_equal(
        bat_profile_translate_moved(moved, profile, original, &translate, &records, &error),
        BAT_ERR_ARGUMENT);
    assert_null(records);
    assert_non_null(strstr(error.message, "struct bat_translate_options"));
    assert_ok(bat_profile_translate_moved(moved, profile, original, NULL, &records, &error));
    bat_records_free(records);
    bat_profile_free(moved);
    bat_profile_free(profile);
    bat_original_close(original);
    bat_binary_close(&binary);
}

TEST(test_symbolizer)
{
    struct bat_error error = {0};
    const struct bat_symbolizer_options open = {.original = INPUT};
    struct bat_symbolizer *symbolizer = (struct bat_symbolizer *)&error;
    assert_int_equal(bat_symbolizer_open(BOLTED, &open, &symbolizer, &error), BAT_ERR_ARGUMENT);
    assert_null(symbolizer);
    assert_non_null(strstr(error.message, "struct bat_symbolizer_options"));

    assert_ok(bat_symbolizer_open(BOLTED, NULL, &symbolizer, &error));
    const struct bat_frames_options sizeless = {.plain_names = false};
    const struct bat_source_frame *frames;
    size_t count;
    /* A function of the binary, by readelf. */
    assert_int_equal(
        bat_symbolizer_frames(symbolizer, 0x4063c0, BAT_PC_EXACT, NULL, &frames, &count),
        BAT_FOUND);
    assert_string_equal(frames[0].function, "_init");
    assert_int_equal(
        bat_symbolizer_frames(symbolizer, 0x4063c0, BAT_PC_EXACT, &sizeless, &frames, &count),
        BAT_FOUND_NOWHERE);
    assert_int_equal(count, 1);
    assert_null(frames[0].function);
    bat_symbolizer_close(symbolizer);
}
