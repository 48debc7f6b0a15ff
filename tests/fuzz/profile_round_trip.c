/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "profile_round_trip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"
#include "fuzz.h"

struct bat_binary *profile_binary(void)
{
    static struct bat_binary binary;
    if (!binary.map)
        fuzz_expect(bat_binary_open(demo_bolted(), &binary, NULL) == BAT_OK,
                    "the demonstration's binary can be opened");
    return &binary;
}

static uint64_t count_lines(const uint8_t *bytes, size_t size)
{
    uint64_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

/* What cannot be read leaves a profile as it was: here empty. */
static void expect_untouched(const struct bat_profile *profile)
{
    static const struct bat_profile_counters none;
    const struct bat_profile_counters counters = bat_profile_counters(profile);
    fuzz_expect(bat_profile_distinct(profile) == 0 && !bat_profile_foreign_id(profile) &&
                    !bat_profile_event(profile, 0) && bat_profile_memory_samples(profile) == 0 &&
                    memcmp(&counters, &none, sizeof(none)) == 0,
                "a profile that cannot be read adds nothing");
}

struct bat_profile *profile_read(const void *bytes, size_t size)
{
    struct bat_profile_target target = {.size = sizeof(target)};
    target.build_id = bat_elf_build_id(profile_binary()->elf, &target.build_id_size);
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new(&target, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    struct bat_read_options options = {.size = sizeof(options), .threads = 1};
    struct bat_error error = {0};
    enum bat_code code = bat_profile_read_memory(profile, bytes, size, &options, &error);
    if (code == BAT_OK)
        return profile;
    expect_untouched(profile);
    fuzz_expect(code == error.code && error.message[0], "an error names itself");
    if (error.place == BAT_PLACE_TEXT)
        fuzz_expect(error.line >= 1 && error.line <= count_lines(bytes, size) &&
                        error.column >= 1 && error.column <= size + 1,
                    "an error's place is inside the text");
    bat_profile_free(profile);
    return NULL;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    fuzz_expect(file && fseek(file, 0, SEEK_END) == 0, "what was written is there");
    long end = ftell(file);
    rewind(file);
    char *text = malloc((size_t)end + 1);
    fuzz_expect(text && fread(text, 1, (size_t)end, file) == (size_t)end,
                "what was written can be read");
    fclose(file);
    text[end] = '\0';
    *size = (size_t)end;
    return text;
}

char *profile_translate(const struct bat_profile *profile, size_t *size)
{
    struct bat_records *records;
    struct bat_error error = {0};
    enum bat_code code = bat_profile_translate(profile, profile_binary(), NULL, &records, &error);
    if (code != BAT_OK) {
        fuzz_expect(code == error.code && error.message[0], "an error names itself");
        return NULL;
    }
    char *path = fuzz_path("profile");
    struct bat_output *outputs[2];
    fuzz_expect(bat_output_begin("/dev/null", &outputs[0], &error) == BAT_OK &&
                    bat_output_begin(path, &outputs[1], &error) == BAT_OK,
                "outputs can be begun");
    fuzz_expect(bat_records_write_yaml(records, outputs[0], &error) == BAT_OK,
                "YAML can be written");
    fuzz_expect(bat_records_write_fdata(records, outputs[1], &error) == BAT_OK,
                "fdata can be written");
    fuzz_expect(bat_outputs_commit(outputs, 2, &error) == BAT_OK, "outputs can be committed");
    bat_records_free(records);
    char *text = read_file(path, size);
    free(path);
    return text;
}
