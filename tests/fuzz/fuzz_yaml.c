/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a YAML profile for merge-fdata and --common: what is read can be written, and
 * reading the written text gives the same profile, which is written as the same bytes. Of a string,
 * bytes that are not UTF-8 are written as their numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "bat_yaml_profile.h"
#include "fuzz.h"
#include "spec/escape_controls.h"

struct taken {
    char *text; /* with a terminating zero */
    size_t size;
};

static bool take(const void *bytes, size_t size, void *context)
{
    struct taken *taken = context;
    char *grown = realloc(taken->text, taken->size + size + 1);
    fuzz_expect(grown != NULL, "there is memory for the text");
    memcpy(grown + taken->size, bytes, size);
    taken->text = grown;
    taken->size += size;
    grown[taken->size] = '\0';
    return true;
}

static struct taken write_profile(const struct bat_yaml_profile *profile)
{
    struct taken taken = {NULL, 0};
    struct bat_output *output;
    struct bat_error error;
    fuzz_expect(bat_output_begin_callback(take, &taken, &output, &error) == BAT_OK &&
                    bat_yaml_profile_write(profile, output, &error) == BAT_OK &&
                    bat_outputs_commit(&output, 1, &error) == BAT_OK,
                "a profile that was read can be written");
    return taken;
}

static uint64_t count_lines(const uint8_t *bytes, size_t size)
{
    uint64_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static bool is_utf8(const char *string)
{
    size_t size = strlen(string);
    size_t length = 1;
    for (; size != 0 && length != 0; string += length, size -= length)
        length = bat_utf8_length(string, size);
    return length != 0;
}

static bool is_same_string(const char *read, const char *again)
{
    return is_utf8(read) ? strcmp(read, again) == 0 : is_utf8(again);
}

static void expect_same_edges(const struct bat_yaml_edges *left, const struct bat_yaml_edges *right)
{
    fuzz_expect(left->count == right->count, "written edges are read again");
    for (uint32_t i = 0; i < left->count; i++) {
        const struct bat_yaml_edge *a = &left->all[i];
        const struct bat_yaml_edge *b = &right->all[i];
        fuzz_expect(a->at == b->at && a->function == b->function && a->entry == b->entry &&
                        a->count == b->count && a->mispredictions == b->mispredictions &&
                        a->probe == b->probe && a->probe_node == b->probe_node &&
                        a->is_indirect == b->is_indirect,
                    "a written edge is read again");
    }
}

/* Compare arrays of structures without padding. */
static void expect_same_list(const void *left, uint32_t left_count, const void *right,
                             uint32_t right_count, size_t size)
{
    fuzz_expect(left_count == right_count &&
                    (left_count == 0 || memcmp(left, right, left_count * size) == 0),
                "a written list of pseudo probes is read again");
}

static void expect_same_function(const struct bat_yaml_profile_function *left,
                                 const struct bat_yaml_profile_function *right)
{
    fuzz_expect(is_same_string(left->name, right->name) && left->number == right->number &&
                    left->block_count == right->block_count && left->hash == right->hash &&
                    left->executions == right->executions &&
                    left->from_outside == right->from_outside && left->count == right->count,
                "a written function is read again");
    expect_same_list(left->nodes, left->node_count, right->nodes, right->node_count,
                     sizeof(*left->nodes));
    for (uint32_t i = 0; i < left->count; i++) {
        const struct bat_yaml_profile_block *a = &left->blocks[i];
        const struct bat_yaml_profile_block *b = &right->blocks[i];
        fuzz_expect(a->index == b->index && a->instructions == b->instructions &&
                        a->hash == b->hash && a->executions == b->executions &&
                        a->events == b->events,
                    "a written block is read again");
        expect_same_edges(&a->calls, &b->calls);
        expect_same_list(a->probes, a->probe_count, b->probes, b->probe_count, sizeof(*a->probes));
        expect_same_edges(&a->successors, &b->successors);
    }
}

static void expect_same(const struct bat_yaml_profile *left, const struct bat_yaml_profile *right)
{
    fuzz_expect(left->version == right->version && is_same_string(left->binary, right->binary) &&
                    is_same_string(left->build_id, right->build_id) &&
                    is_same_string(left->origin, right->origin) &&
                    is_same_string(left->events, right->events) && left->flags == right->flags &&
                    left->is_dfs_order == right->is_dfs_order &&
                    left->has_xxh3 == right->has_xxh3 && left->count == right->count,
                "a written header is read again");
    expect_same_list(left->guids, left->guid_count, right->guids, right->guid_count,
                     sizeof(*left->guids));
    if (left->guid_count != 0) /* else there are no tables */
        expect_same_list(left->hashes, left->hash_count, right->hashes, right->hash_count,
                         sizeof(*left->hashes));
    for (uint32_t i = 0; i < left->count; i++)
        expect_same_function(&left->functions[i], &right->functions[i]);
}

static void expect_error(enum bat_code code, const struct bat_error *error, const uint8_t *data,
                         size_t size)
{
    fuzz_expect(code == error->code && error->message[0], "an error names itself");
    if (error->place == BAT_PLACE_TEXT)
        fuzz_expect(error->line >= 1 && error->line <= count_lines(data, size) &&
                        error->column >= 1 && error->column <= size + 1,
                    "an error's place is inside the text");
}

/* Write the profile, and read that. */
static struct taken read_again(const struct bat_yaml_profile *profile,
                               struct bat_yaml_profile *again)
{
    struct taken written = write_profile(profile);
    struct bat_error error;
    fuzz_expect(bat_yaml_profile_read(written.text, written.size, again, &error) == BAT_OK,
                "what was written can be read");
    expect_same(profile, again);
    return written;
}

/* From the second time on all strings are UTF-8. */
static void check_again(const struct bat_yaml_profile *profile)
{
    struct bat_yaml_profile second;
    struct bat_yaml_profile third;
    struct taken first = read_again(profile, &second);
    struct taken written = read_again(&second, &third);
    struct taken again = write_profile(&third);
    fuzz_expect(again.size == written.size && memcmp(again.text, written.text, again.size) == 0,
                "what was read again is written the same");
    bat_yaml_profile_free(&second);
    bat_yaml_profile_free(&third);
    free(first.text);
    free(written.text);
    free(again.text);
}

/* All that a profile has in common with itself is itself, however often it is asked. */
static void check_common(const char *text, size_t size)
{
    struct bat_yaml_profile profiles[2];
    struct taken written[2];
    struct bat_error error;
    bool is_sorted = true;
    for (unsigned i = 0; i < 2; i++)
        is_sorted &= bat_yaml_profile_read(text, size, &profiles[i], &error) == BAT_OK &&
                     bat_yaml_profile_sort(&profiles[i], &error) == BAT_OK;
    if (is_sorted) {
        fuzz_expect(bat_yaml_profile_keep_common(&profiles[0], &profiles[1], &error) == BAT_OK,
                    "a profile is of its own build");
        fuzz_expect(bat_yaml_profile_finish_common(&profiles[0]) ==
                        bat_yaml_profile_finish_common(&profiles[1]),
                    "it has as many records");
        for (unsigned i = 0; i < 2; i++)
            written[i] = write_profile(&profiles[i]);
        fuzz_expect(written[0].size == written[1].size &&
                        memcmp(written[0].text, written[1].text, written[0].size) == 0,
                    "a profile has all of itself");
        free(written[0].text);
        free(written[1].text);
    }
    bat_yaml_profile_free(&profiles[0]);
    bat_yaml_profile_free(&profiles[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_expect(text != NULL, "there is memory for the text");
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    struct bat_yaml_profile profile;
    struct bat_error error = {0};
    enum bat_code code = bat_yaml_profile_read(text, size, &profile, &error);
    if (code == BAT_OK) {
        check_again(&profile);
        check_common(text, size);
    } else {
        expect_error(code, &error, data, size);
    }
    bat_yaml_profile_free(&profile);
    free(text);
    return 0;
}
