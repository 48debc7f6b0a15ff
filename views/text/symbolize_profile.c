/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts the stacks of a profile of pprof or OpenTelemetry. */
#include "stacks/symbolizer.h"
#include "symbolize_text.h"

bool bat_symbolize_is_profile(const void *bytes, size_t size)
{
    return stack_profile_is(bytes, size);
}

/* Find which stacks are of the given binary, and tell if none is. */
static void find_own(struct bat_symbolize *text, struct stack_profile *profile)
{
    const struct bat_symbolizer *given = symbolize_files_given(text->files);
    if (!given)
        return;
    size_t size = 0;
    const uint8_t *build_id =
        text->binary.ignore_build_id ? NULL : bat_elf_build_id(given->elf, &size);
    stack_profile_own(profile, text->options.path, build_id, size);
    for (size_t i = 0; i < profile->mapping_count; i++)
        if (profile->mappings[i].is_own)
            return;
    if (text->options.tell)
        text->options.tell(text->options.path,
                           "warning: expected the file in the profile, by its build-id or name, "
                           "found it nowhere",
                           text->options.context);
}

enum bat_code bat_symbolize_profile(struct bat_symbolize *text, int file, const char *sample_type,
                                    struct bat_error *error)
{
    if (!symbolize_is_counted(text))
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected stacks that are counted (--folded, --format) of a profile of "
                        "pprof or OpenTelemetry, found none of these");
    struct stack_profile *profile;
    BAT_TRY(stack_profile_read(file, sample_type, &profile, error));
    profile->next = text->profiles;
    text->profiles = profile;
    find_own(text, profile);
    for (size_t i = 0; i < profile->sample_count; i++)
        symbolize_sample_count(text, &profile->samples[i]);
    return BAT_OK;
}
