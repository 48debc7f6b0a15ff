/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .pseudo_probe_desc: spec/pseudo-probes.md 2. */
#include <stdlib.h>

#include "reading.h"
#include "spec/array.h"
#include "support/counts.h"

/* --- Records ---------------------------------------------------------------------------------- */

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

static enum bat_code fail_memory(const struct probe_bytes *bytes, uint32_t count)
{
    return bat_fail_memory(bytes->error, "for %u functions with probes", count);
}

/* Read the records up to the end of the section: all, or (wanted is not NULL) those of GUIDs. */
static enum bat_code read_records(struct probe_bytes bytes, const struct bat_counts *wanted,
                                  struct owned_probes *probes)
{
    uint32_t *count = &probes->public.function_count;
    size_t room = 0;
    while (bytes.at < bytes.end) {
        struct bat_probe_function function;
        BAT_TRY(read_record(&bytes, &function));
        if (wanted && !bat_counts_find(wanted, &function.guid))
            continue;
        if (*count == room) {
            room = 2 * room + 64;
            void *grown = bat_array_grow(probes->functions, room, sizeof(function));
            if (!grown)
                return fail_memory(&bytes, *count);
            probes->functions = grown;
        }
        probes->functions[(*count)++] = function;
    }
    return BAT_OK;
}

/* Sort them by GUID. */
static bool sort_functions(struct owned_probes *probes)
{
    const uint32_t count = probes->public.function_count;
    struct bat_sort_key *keys = bat_array_new(count, sizeof(*keys));
    for (uint32_t i = 0; keys && i < count; i++)
        keys[i] = (struct bat_sort_key){probes->functions[i].guid, i};
    if (count == 0)
        probes->functions = bat_array_new(0, 1);
    probes->functions = probes_sorted(probes->functions, keys, count, sizeof(*probes->functions));
    probes->public.functions = probes->functions;
    return probes->functions != NULL;
}

/* --- The functions of nodes ------------------------------------------------------------------- */

/* Tell the nodes their functions: of several with one GUID the first. */
static void find_functions(struct owned_probes *into)
{
    for (uint32_t i = 0; i < into->public.node_count; i++) {
        struct bat_probe_node *node = &into->nodes[i];
        const struct bat_probe_function *found = bat_probes_function(&into->public, node->guid);
        node->function = found ? (uint32_t)(found - into->functions) : BAT_NONE;
    }
}

enum bat_code probes_read_functions(struct probe_bytes bytes, struct owned_probes *probes)
{
    struct bat_counts guids = bat_counts_new(1); /* of the nodes */
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; probes->wanted && i < probes->public.node_count && !code; i++)
        code = bat_counts_add(&guids, &probes->public.nodes[i].guid, 0, 0);
    code = code ? fail_memory(&bytes, probes->public.node_count)
                : read_records(bytes, probes->wanted ? &guids : NULL, probes);
    bat_counts_free(&guids);
    if (code == BAT_OK && !sort_functions(probes))
        code = fail_memory(&bytes, probes->public.function_count);
    if (code == BAT_OK)
        find_functions(probes);
    return code;
}
