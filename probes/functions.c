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

/* Read to the end of the section. functions and keys may be NULL: then records are counted. */
static enum bat_code read_records(struct probe_bytes bytes, struct bat_probe_function *functions,
                                  struct bat_sort_key *keys, uint32_t *count)
{
    for (*count = 0; bytes.at < bytes.end; ++*count) {
        struct bat_probe_function function;
        BAT_TRY(read_record(&bytes, &function));
        if (!functions)
            continue;
        functions[*count] = function;
        keys[*count] = (struct bat_sort_key){function.guid, *count};
    }
    return BAT_OK;
}

enum bat_code probes_read_functions(struct probe_bytes bytes, struct owned_probes *probes)
{
    uint32_t count;
    BAT_TRY(read_records(bytes, NULL, NULL, &count));
    struct bat_probe_function *functions = bat_array_new(count, sizeof(*functions));
    struct bat_sort_key *keys = bat_array_new(count, sizeof(*keys));
    if (functions && keys)
        read_records(bytes, functions, keys, &count);
    probes->functions = probes_sorted(functions, keys, count, sizeof(*functions));
    probes->public.functions = probes->functions;
    probes->public.function_count = count;
    return probes->functions ? BAT_OK
                             : bat_fail_memory(bytes.error, "for %u functions with probes", count);
}
