/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .pseudo_probe_desc: spec/pseudo-probes.md 2. */

#include "reading.h"
#include "spec/array.h"

static enum bat_code read_record(struct probe_bytes *bytes, struct bat_probe_function *function)
{
    enum bat_code code = probe_bytes_word(bytes, "a function's GUID", &function->guid);
    code = code ? code : probe_bytes_word(bytes, "a function's hash", &function->hash);
    BAT_TRY(code);
    BAT_TRY(probe_bytes_count(bytes, "a name's length", 1, &function->name_length));
    function->name = (const char *)bytes->at;
    bytes->at += function->name_length;
    return BAT_OK;
}

/* Count the records up to the end of the section. */
static enum bat_code count_records(struct probe_bytes bytes, uint32_t *count)
{
    struct bat_probe_function ignored;
    for (*count = 0; bytes.at < bytes.end; ++*count)
        BAT_TRY(read_record(&bytes, &ignored));
    return BAT_OK;
}

/* Read them: at most so many as were counted, if another program changes the file meanwhile.
 * *count is set to the number of those read. */
static enum bat_code read_records(struct probe_bytes bytes, struct bat_probe_function *functions,
                                  struct bat_sort_key *keys, uint32_t *count)
{
    const uint32_t counted = *count;
    for (*count = 0; bytes.at < bytes.end && *count < counted; ++*count) {
        struct bat_probe_function *function = &functions[*count];
        BAT_TRY(read_record(&bytes, function));
        keys[*count] = (struct bat_sort_key){function->guid, *count};
    }
    return BAT_OK;
}

enum bat_code probes_read_functions(struct probe_bytes bytes, struct owned_probes *probes)
{
    uint32_t count;
    BAT_TRY(count_records(bytes, &count));
    struct bat_probe_function *functions = bat_array_new(count, sizeof(*functions));
    struct bat_sort_key *keys = bat_array_new(count, sizeof(*keys));
    enum bat_code code = functions && keys ? read_records(bytes, functions, keys, &count) : BAT_OK;
    probes->functions = probes_sorted(functions, keys, count, sizeof(*functions));
    probes->public.functions = probes->functions;
    probes->public.function_count = count;
    return probes->functions ? code
                             : bat_fail_memory(bytes.error, "for %u functions with probes", count);
}
