/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a profile of stacks: if it can be read, its numbers lead to what is there, and both
 * formats, written and read again, have its counts.
 */
#include <unistd.h>

#include "bat_views.h"
#include "fuzz.h"
#include "profile/stacks/stack_profile.h"
#include "support/temporary.h"

static struct stack_profile *read_bytes(const void *bytes, size_t size)
{
    int file;
    struct stack_profile *profile;
    if (bat_temporary_of_bytes(bytes, size, &file, NULL) != BAT_OK)
        fuzz_fail("no temporary file");
    enum bat_code code = stack_profile_read(file, NULL, &profile, NULL);
    fuzz_expect((code == BAT_OK) == (profile != NULL), "a failure gives nothing");
    close(file);
    return profile;
}

/* Add a sample's stack; a place without names gets one. */
static void add_sample(struct bat_sampled_stacks *stacks, const struct stack_sample *sample)
{
    bat_sampled_stacks_begin(stacks);
    for (size_t i = 0; i < sample->depth; i++) {
        const struct stack_place *place = sample->places[i];
        const struct stack_line *line = place->line_count ? place->lines : NULL;
        const struct bat_sampled_frame frame = {.function = line ? line->function : NULL,
                                                .file = line             ? line->file
                                                        : place->mapping ? place->mapping->path
                                                                         : NULL,
                                                .line = line ? line->line : 0};
        bat_sampled_stacks_place(stacks, place->address, &frame, 1);
    }
    bat_sampled_stacks_end(stacks, sample->count);
}

struct written {
    uint8_t bytes[1 << 20];
    size_t size;
};

static bool take(const void *bytes, size_t size, void *context)
{
    struct written *written = context;
    if (size > sizeof(written->bytes) - written->size)
        return false;
    for (size_t i = 0; i < size; i++)
        written->bytes[written->size++] = ((const uint8_t *)bytes)[i];
    return true;
}

static void expect_counts(struct bat_sampled_stacks *stacks, enum bat_viewer_format format,
                          uint64_t sum)
{
    static struct written written;
    const struct bat_sampled_subject subject = {.title = "fuzz", .unit = "samples"};
    struct bat_output *output;
    written.size = 0;
    fuzz_expect(bat_output_begin_callback(take, &written, &output, NULL) == BAT_OK, "memory");
    if (bat_sampled_stacks_write(stacks, format, &subject, output, NULL) == BAT_OK) {
        struct stack_profile *again = read_bytes(written.bytes, written.size);
        fuzz_expect(again && again->sum == sum, "what was written has the counts");
        stack_profile_free(again);
    }
    bat_output_abandon(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stack_profile *profile = read_bytes(data, size);
    struct bat_sampled_stacks *stacks = bat_sampled_stacks_new();
    uint64_t sum = 0;
    for (size_t i = 0; profile && stacks && i < profile->sample_count; i++) {
        sum += profile->samples[i].count;
        add_sample(stacks, &profile->samples[i]);
    }
    if (profile && stacks) {
        fuzz_expect(profile->sum == sum, "the sum is that of the samples");
        expect_counts(stacks, BAT_VIEWER_PPROF, sum);
        expect_counts(stacks, BAT_VIEWER_OTLP, sum);
    }
    bat_sampled_stacks_free(stacks);
    stack_profile_free(profile);
    return 0;
}
