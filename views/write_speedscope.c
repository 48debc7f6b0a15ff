/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * speedscope's file format (its schema: file-format-schema.json). A frame is a function, with the
 * line where it is declared: a function at several lines is one box.
 */
#include <batkit/bat_version.h>

#include "bat_views.h"
#include "stack_tables.h"

static const char *name_of(const struct bat_sampled_stacks *stacks, uint64_t number)
{
    return bat_strings_get(&stacks->names, (uint32_t)number);
}

static void put_frames(struct bat_text_writer *text, const struct bat_sampled_stacks *stacks)
{
    bat_text_string(text, "\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < stacks->functions.count; i++) {
        const uint64_t *function = bat_counts_item(&stacks->functions, i);
        bat_text_member(text, i ? ",\n{\"name\":" : "\n{\"name\":", name_of(stacks, function[0]));
        if (name_of(stacks, function[2])[0]) {
            bat_text_member(text, ",\"file\":", name_of(stacks, function[2]));
        }
        if (function[3] != 0) {
            bat_text_string(text, ",\"line\":");
            bat_text_decimal(text, function[3]);
        }
        bat_text_string(text, "}");
    }
    bat_text_string(text, "]},\n");
}

/* From the outermost on. */
static void put_sample(struct bat_text_writer *text, const struct bat_counts *functions)
{
    bat_text_string(text, "[");
    for (uint32_t i = functions->count; i != 0; i--) {
        bat_text_decimal(text, bat_counts_item(functions, i - 1)[1]);
        bat_text_string(text, i > 1 ? "," : "");
    }
    bat_text_string(text, "]");
}

static bool put_samples(struct bat_text_writer *text, const struct bat_sampled_stacks *stacks)
{
    struct bat_counts functions = bat_counts_new(2);
    bool fits = true;
    bat_text_string(text, "\"samples\":[");
    for (uint32_t i = 0; i < stacks->counts.count && fits; i++) {
        uint32_t number = (uint32_t)bat_counts_item(&stacks->counts, i)[0];
        bat_text_string(text, i ? ",\n" : "\n");
        fits = stack_functions(stacks, number, &functions) == BAT_OK;
        put_sample(text, &functions);
    }
    bat_text_string(text, "],\n\"weights\":[");
    for (uint32_t i = 0; i < stacks->counts.count; i++) {
        bat_text_string(text, i ? "," : "");
        bat_text_decimal(text, bat_counts_item(&stacks->counts, i)[1]);
    }
    bat_text_string(text, "]}],\n");
    bat_counts_free(&functions);
    return fits;
}

enum bat_code write_speedscope(const struct bat_sampled_stacks *stacks,
                               const struct bat_sampled_subject *subject, struct bat_output *output,
                               struct bat_error *error)
{
    struct bat_text_writer text;
    BAT_TRY(bat_text_begin(&text, output, error));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stacks->counts.count; i++)
        sum += bat_counts_item(&stacks->counts, i)[1];
    bat_text_string(&text,
                    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
    put_frames(&text, stacks);
    bat_text_member(&text, "\"profiles\":[{\"type\":\"sampled\",\"name\":", subject->unit);
    bat_text_string(&text, ",\"unit\":\"none\",\"startValue\":0,\"endValue\":");
    bat_text_decimal(&text, sum);
    bat_text_string(&text, ",\n");
    bool fits = put_samples(&text, stacks);
    bat_text_member(&text, "\"name\":", subject->title);
    bat_text_string(&text, ",\"activeProfileIndex\":0,\"exporter\":\"batkit ");
    bat_text_string(&text, bat_version());
    bat_text_string(&text, "\"}\n");
    return bat_text_finish(&text, fits ? BAT_OK : bat_fail_memory(error, "for the stacks"));
}
