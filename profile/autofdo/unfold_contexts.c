/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Gives what was counted in the code of functions that BOLT folded into one (-icf) to those that
 * the calls of its contexts name.
 */
#include <stdlib.h>

#include "binary/code/instructions.h"
#include "binary/original/folded.h"
#include "spec/array.h"
#include "unwind.h"

struct unfolding {
    struct unwinder *unwinder;
    struct folded folded;
    uint64_t *calls; /* of each context, moved; 0: of another file */
};

/* Move an address from the function that was kept to the one that a call names. */
static enum bat_code move_named(struct unfolding *unfolding, uint64_t call, uint64_t *address)
{
    struct folded *folded = &unfolding->folded;
    const uint32_t body = folded_body_at(folded, *address);
    uint32_t member;
    if (body == BAT_NONE || call == 0)
        return BAT_OK;
    const uint64_t start = folded->members[folded->bodies[body].first_member].start;
    BAT_TRY(folded_read(folded, body));
    BAT_TRY(folded_named(folded, call, start, &member));
    uint64_t moved;
    if (member != BAT_NONE && folded_move(folded, member, *address, &moved))
        *address = moved;
    return BAT_OK;
}

/* Move the calls of all contexts: each behind those around it. */
static enum bat_code move_calls(struct unfolding *unfolding)
{
    struct unwinder *unwinder = unfolding->unwinder;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < unwinder->context_count && code == BAT_OK; i++) {
        struct context *context = &unwinder->contexts[i];
        uint64_t call = 0;
        code = unwinder_call(unwinder, context->behind, &call);
        unfolding->calls[i] = call;
        if (code != BAT_OK || call == 0)
            continue;
        code = move_named(unfolding, unfolding->calls[context->caller], &unfolding->calls[i]);
        if (code == BAT_OK && unfolding->calls[i] != call) {
            context->behind += unfolding->calls[i] - call;
            code = unwinder_note_call(unwinder, context->behind, unfolding->calls[i]);
        }
    }
    return code;
}

/* The call that names the function where a branch in a context goes; 0: where returns go, there is
 * none. A jump stays in its function, or leaves the folded ones. */
static enum bat_code find_naming(struct unfolding *unfolding, uint64_t branch, uint64_t *call)
{
    uint8_t kind;
    BAT_TRY(unwinder_kind(unfolding->unwinder, branch, &kind));
    if (bat_kind_is_call(kind))
        *call = branch;
    else if (kind == BAT_INSTRUCTION_RETURN)
        *call = 0;
    return BAT_OK;
}

/* Move the two addresses of each item of a table: the ends of runs, or of branches. */
static enum bat_code move_items(struct unfolding *unfolding, struct bat_counts *table,
                                bool are_branches)
{
    struct bat_counts moved = bat_counts_new(3);
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < table->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(table, i);
        uint64_t call = unfolding->calls[item[2]];
        uint64_t key[3] = {item[0], item[1], item[2]};
        code = move_named(unfolding, call, &key[0]);
        if (code == BAT_OK && are_branches)
            code = find_naming(unfolding, key[0], &call);
        code = code ? code : move_named(unfolding, call, &key[1]);
        code = code ? code : bat_counts_add(&moved, key, item[3], 0);
    }
    bat_counts_free(table);
    *table = moved;
    return code;
}

enum bat_code unwinder_unfold(struct unwinder *unwinder, const struct bat_original *original)
{
    struct unfolding unfolding = {
        .unwinder = unwinder,
        .calls = bat_array_new(unwinder->context_count, sizeof(*unfolding.calls))};
    enum bat_code code = folded_open(&unfolding.folded, original);
    code = code ? code : unwinder_flush(unwinder);
    if (!unfolding.calls)
        code = BAT_ERR_MEMORY;
    if (code == BAT_OK && unfolding.folded.body_count != 0) {
        code = move_calls(&unfolding);
        code = code ? code : move_items(&unfolding, &unwinder->ranges, false);
        code = code ? code : move_items(&unfolding, &unwinder->branches, true);
    }
    folded_close(&unfolding.folded);
    free(unfolding.calls);
    return code;
}
