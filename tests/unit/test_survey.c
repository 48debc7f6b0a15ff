/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * profile/translate/survey.c: which functions the samples of a profile are in, and what is read for
 * them. The binary is small.bolt, where main and four others have a cold fragment.
 */
#include "bat_decoder.h"
#include "profile/translate/translation.h"
#include "unit_test.h"

#define DEMO TEST_DATA "/demo/small.bolt"

/* Addresses in small.bolt, as nm prints the functions. */
#define SORT 0x406000u /* 0x3c bytes */
#define PARTITION 0x406040u
#define MAIN 0x406096u
#define MAIN_COLD 0x4064c0u
#define INTERPRET 0x406280u
#define POP 0x406384u
#define PUSH 0x40639au
#define DIE 0x4013c0u /* has no table */

/* A translation as far as the survey needs it. */
struct scene {
    struct bat_binary binary;
    struct bat_records records;
    struct bat_profile *profile;
    struct bat_sparse_map sparse;
    struct translation translation;
    struct bat_error error;
};

static void close_scene(void *opened)
{
    struct scene *scene = opened;
    free(scene->translation.surveyed);
    free(scene->translation.touched);
    free(scene->translation.ends);
    free(scene->translation.keys);
    bat_records_forget_code(&scene->records);
    bat_functions_free(scene->records.functions);
    free(scene->records.tables);
    bat_sparse_free(&scene->sparse);
    bat_profile_free(scene->profile);
    bat_binary_close(&scene->binary);
    free(scene);
}

static struct scene *open_scene(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    struct bat_records *records = &scene->records;
    assert_ok(bat_binary_find_note(DEMO, &scene->binary, NULL));
    assert_ok(bat_binary_decode_sparse(&scene->binary, false, &scene->sparse, NULL));
    assert_non_null(scene->sparse.tables);
    assert_ok(bat_functions_create_unnamed(scene->binary.elf, NULL, 0, &records->functions, NULL));
    records->binary = &scene->binary;
    records->binary_map = records->map = scene->sparse.map;
    records->kind = BAT_PROFILE_BRANCHES;
    records->symbols = bat_functions_all(records->functions, &records->function_count);
    records->tables = malloc((records->function_count + 1) * sizeof(*records->tables));
    assert_non_null(records->tables);
    for (uint32_t i = 0; i < records->function_count; i++)
        records->tables[i] = bat_map_table_at(records->map, records->symbols[i].address);
    assert_ok(bat_profile_new_of(&scene->binary, &scene->profile, NULL));
    scene->translation = (struct translation){.profile = scene->profile,
                                              .fdata_of = scene->profile,
                                              .options = {.keep_all_records = true},
                                              .records = records,
                                              .error = &scene->error};
    keep(close_scene, scene);
    return scene;
}

static void add_trace(struct scene *scene, uint64_t branch, uint64_t from, uint64_t to)
{
    const uint64_t key[3] = {branch, from, to};
    assert_ok(bat_counts_add(&scene->profile->traces, key, 1, 0));
}

static void survey(struct scene *scene, bool is_renamed)
{
    assert_ok(translation_sort_traces(&scene->translation));
    if (translation_survey(&scene->translation, &scene->sparse, is_renamed) != BAT_OK)
        fail_msg("%s", scene->error.message);
    assert_null(scene->sparse.tables);
}

/* The function that holds an address by the sizes of the symbols alone. */
static uint32_t function_of(const struct scene *scene, uint64_t address)
{
    const struct bat_records *records = &scene->records;
    for (uint32_t i = 0; i < records->function_count; i++)
        if (address >= records->symbols[i].address &&
            address - records->symbols[i].address < records->symbols[i].size)
            return i;
    return BAT_NONE;
}

/* Check that these functions, and no others, were found, named and loaded. */
static void assert_found(const struct scene *scene, const uint64_t *addresses, size_t count)
{
    const struct bat_records *records = &scene->records;
    const struct bat_map *map = scene->sparse.map;
    size_t found = 0;
    for (uint32_t i = 0; i < records->function_count; i++) {
        uint64_t address = records->symbols[i].address;
        bool is_wanted = false;
        for (size_t j = 0; j < count; j++)
            is_wanted |= addresses[j] == address;
        if ((scene->translation.surveyed[i] != 0) != is_wanted)
            fail_msg("function at 0x%llx: %s", (unsigned long long)address,
                     is_wanted ? "not found" : "found");
        assert_int_equal(records->symbols[i].name != NULL, is_wanted);
        found += is_wanted;
        if (records->tables[i] == BAT_NONE)
            continue;
        /* Fragments come with their functions. */
        uint64_t parent = map->tables[bat_map_parent(map, records->tables[i])].address;
        bool is_loaded = false;
        for (size_t j = 0; j < count; j++)
            is_loaded |= addresses[j] == parent;
        assert_int_equal(map->tables[records->tables[i]].entry_count != 0, is_loaded);
    }
    assert_int_equal(found, count);
}

#define ASSERT_FOUND(scene, ...)                                                                   \
    assert_found(scene, (const uint64_t[]){__VA_ARGS__}, COUNT(((const uint64_t[]){__VA_ARGS__})))

/* --- Traces --------------------------------------------------------------------------------- */

TEST(test_traces)
{
    struct scene *scene = open_scene();
    static const uint64_t traces[][3] = {
        {POP + 4, PUSH, PUSH + 8},
        {SORT + 8, SORT + 9, SORT + 0xe},
        {MAIN + 0x1a, PARTITION, PARTITION + 0x20},
        {SORT + 0x22, SORT, SORT + 0xc},
        /* A run that leaves its function, and a branch from no function. */
        {0x1000, SORT + 0x30, INTERPRET + 5},
    };
    for (size_t i = 0; i < COUNT(traces); i++)
        add_trace(scene, traces[i][0], traces[i][1], traces[i][2]);
    survey(scene, false);
    for (size_t i = 0; i < COUNT(traces); i++) {
        const struct trace_functions *ends = &scene->translation.ends[i];
        assert_int_equal(ends->branch, function_of(scene, traces[i][0]));
        assert_int_equal(ends->from, function_of(scene, traces[i][1]));
        assert_int_equal(ends->to, function_of(scene, traces[i][2]));
    }
    const uint32_t ascending[] = {3, 1, 4, 2, 0};
    for (size_t i = 0; i < COUNT(ascending); i++)
        assert_int_equal(scene->translation.order[i].value, ascending[i]);
    ASSERT_FOUND(scene, POP, PUSH, SORT, MAIN, PARTITION, INTERPRET);
}

/* With a fragment its function is found: records are in terms of that. */
TEST(test_fragment)
{
    struct scene *scene = open_scene();
    add_trace(scene, BAT_ADDRESS_EXTERNAL, MAIN_COLD, MAIN_COLD + 3);
    survey(scene, false);
    ASSERT_FOUND(scene, MAIN, MAIN_COLD);
}

/* Addresses that no function has, among them all that mean something else in a trace. */
TEST(test_outside)
{
    struct scene *scene = open_scene();
    static const uint64_t outside[] = {0,
                                       1,
                                       SORT - 1,
                                       0x7fffffffffffffff,
                                       UINT64_MAX,
                                       BAT_ADDRESS_EXTERNAL,
                                       BAT_TRACE_EXTERNAL_RETURN,
                                       BAT_TRACE_FALLTHROUGH_ONLY,
                                       BAT_TRACE_BRANCH_ONLY};
    for (size_t i = 0; i < COUNT(outside); i++)
        for (size_t j = 0; j < COUNT(outside); j++)
            add_trace(scene, outside[i], outside[j], outside[(i + j) % COUNT(outside)]);
    survey(scene, false);
    for (uint32_t i = 0; i < scene->profile->traces.count; i++) {
        const struct trace_functions *ends = &scene->translation.ends[i];
        assert_true(ends->branch == BAT_NONE && ends->from == BAT_NONE && ends->to == BAT_NONE);
    }
    assert_found(scene, NULL, 0);
    assert_int_equal(scene->sparse.map->entry_count, 0);
}

TEST(test_empty_profile)
{
    struct scene *scene = open_scene();
    survey(scene, false);
    assert_found(scene, NULL, 0);
}

/* Every address of the code, one after the other and backwards: what is remembered from one trace
 * to the next must not be taken for another address. */
TEST(test_every_address)
{
    struct scene *scene = open_scene();
    const uint64_t start = 0x401000;
    const uint64_t end = 0x406600;
    for (uint64_t address = start; address < end; address += 5)
        add_trace(scene, end - (address - start), address, address + 0x40);
    survey(scene, false);
    for (uint32_t i = 0; i < scene->profile->traces.count; i++) {
        const uint64_t *item = bat_counts_item(&scene->profile->traces, i);
        const struct trace_functions *ends = &scene->translation.ends[i];
        assert_int_equal(ends->branch, bat_functions_find(scene->records.functions, item[0]));
        assert_int_equal(ends->from, bat_functions_find(scene->records.functions, item[1]));
        assert_int_equal(ends->to, bat_functions_find(scene->records.functions, item[2]));
    }
}

/* --- Other samples -------------------------------------------------------------------------- */

TEST(test_samples)
{
    struct scene *scene = open_scene();
    assert_ok(bat_profile_add_sample(scene->profile, SORT + 5, 7, NULL));
    assert_ok(bat_profile_add_sample(scene->profile, MAIN_COLD + 1, 1, NULL));
    assert_ok(bat_profile_add_sample(scene->profile, DIE + 3, 1, NULL));
    survey(scene, false);
    ASSERT_FOUND(scene, SORT, MAIN, MAIN_COLD, DIE);
}

/* Of a load both the instruction and what it reads may be in a function. */
TEST(test_loads)
{
    struct scene *scene = open_scene();
    assert_ok(bat_profile_add_load(scene->profile, POP + 1, PUSH + 2, 1, NULL));
    survey(scene, false);
    ASSERT_FOUND(scene, POP, PUSH);
}

/* --- When all functions are needed ---------------------------------------------------------- */

static void assert_all_loaded(const struct scene *scene)
{
    const struct bat_map *map = scene->sparse.map;
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        assert_true(map->tables[i].entry_count != 0);
}

/* fdata may name any function, so that naming is left to the caller. */
TEST(test_fdata)
{
    struct scene *scene = open_scene();
    add_trace(scene, SORT + 8, SORT + 9, SORT + 0xe);
    scene->profile->fdata.seen = true;
    survey(scene, false);
    assert_false(scene->translation.has_names);
    assert_all_loaded(scene);
}

TEST(test_renamed)
{
    struct scene *scene = open_scene();
    add_trace(scene, SORT + 8, SORT + 9, SORT + 0xe);
    survey(scene, true);
    assert_true(scene->translation.has_names);
    assert_all_loaded(scene);
}

/* A note that has changed since it was first read is refused, not trusted. */
TEST(test_changed_note)
{
    struct scene *scene = open_scene();
    add_trace(scene, SORT + 8, SORT + 9, SORT + 0xe);
    uint8_t *note = kept_memory(NULL, scene->binary.note_size);
    memcpy(note, scene->binary.note, scene->binary.note_size);
    memset(note + 20, 0xff, scene->binary.note_size - 20);
    struct bat_binary changed = scene->binary;
    changed.note = note;
    changed.elf = NULL;
    assert_int_not_equal(
        bat_binary_load_tables(&changed, &scene->sparse, NULL, NULL, &scene->error), BAT_OK);
    assert_int_equal(scene->error.place, BAT_PLACE_SECTION);
}
