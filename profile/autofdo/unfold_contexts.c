/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Gives what was counted in the code of functions that BOLT folded into one (-icf) to those that
 * the calls of its contexts name.
 */
#include <stdlib.h>

#include "binary/code/instructions.h"
#include "binary/original/folded.h"
#include "spec/array.h"
#include "spec/free_all.h"
#include "tail_calls.h"

struct unfolding {
    struct unwinder *unwinder;
    struct folded folded;
    struct tail_calls tail_calls; /* as sampled, in the functions that were kept */
    uint64_t *sampled;            /* the call of each context; 0: of another file */
    uint64_t *calls;              /* the same, moved */
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

/*
 * Find what names the function of an address in a context: the context's call, or the last jump
 * behind it, if the functions that it calls jump on (tail calls).
 */
static enum bat_code find_naming(struct unfolding *unfolding, uint32_t context, uint64_t address,
                                 uint64_t *naming)
{
    const uint64_t *jumps;
    size_t count = 0;
    *naming = unfolding->calls[context];
    if (folded_body_at(&unfolding->folded, address) == BAT_NONE)
        return BAT_OK;
    enum bat_code code = tail_calls_between(&unfolding->tail_calls, unfolding->sampled[context],
                                            address, &jumps, &count);
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        uint64_t jump = jumps[i];
        code = move_named(unfolding, *naming, &jump);
        *naming = jump;
    }
    return code;
}

/* Move an address in a context. */
static enum bat_code move_in(struct unfolding *unfolding, uint32_t context, uint64_t *address)
{
    uint64_t naming;
    enum bat_code code = find_naming(unfolding, context, *address, &naming);
    return code ? code : move_named(unfolding, naming, address);
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
        unfolding->sampled[i] = call;
        unfolding->calls[i] = call;
        if (code != BAT_OK || call == 0)
            continue;
        code = move_in(unfolding, context->caller, &unfolding->calls[i]);
        if (code == BAT_OK && unfolding->calls[i] != call) {
            context->behind += unfolding->calls[i] - call;
            code = unwinder_note_call(unwinder, context->behind, unfolding->calls[i]);
        }
    }
    return code;
}

/*
 * Move the target of a branch, whose source was moved. Calls name it, and jumps to another
 * function; where returns go, nothing does.
 */
static enum bat_code move_target(struct unfolding *unfolding, uint32_t context, uint64_t branch,
                                 uint64_t *target)
{
    const uint64_t before = *target;
    uint8_t kind;
    BAT_TRY(unwinder_kind(unfolding->unwinder, branch, &kind));
    if (kind == BAT_INSTRUCTION_RETURN)
        return BAT_OK;
    BAT_TRY(move_named(unfolding, branch, target));
    return *target == before && !bat_kind_is_call(kind) ? move_in(unfolding, context, target)
                                                        : BAT_OK;
}

/* Move the two addresses of each item of a table: the ends of runs, or of branches. */
static enum bat_code move_items(struct unfolding *unfolding, struct bat_counts *table,
                                bool are_branches)
{
    struct bat_counts moved = bat_counts_new(3);
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < table->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(table, i);
        const uint32_t context = (uint32_t)item[2];
        uint64_t key[3] = {item[0], item[1], context};
        code = move_in(unfolding, context, &key[0]);
        if (code == BAT_OK)
            code = are_branches ? move_target(unfolding, context, key[0], &key[1])
                                : move_in(unfolding, context, &key[1]);
        code = code ? code : bat_counts_add(&moved, key, item[3], 0);
    }
    bat_counts_free(table);
    *table = moved;
    return code;
}

/* Move all that was counted in folded functions. */
static enum bat_code move_all(struct unfolding *unfolding, const struct probe_functions *functions)
{
    struct unwinder *unwinder = unfolding->unwinder;
    unfolding->sampled = bat_array_new(unwinder->context_count, sizeof(*unfolding->sampled));
    unfolding->calls = bat_array_new(unwinder->context_count, sizeof(*unfolding->calls));
    enum bat_code code = unfolding->sampled && unfolding->calls ? BAT_OK : BAT_ERR_MEMORY;
    code = code ? code : unwinder_flush(unwinder);
    if (code == BAT_OK)
        bat_counts_sort(&unwinder->branches);
    code = code ? code : tail_calls_new(&unfolding->tail_calls, unwinder, functions);
    code = code ? code : move_calls(unfolding);
    code = code ? code : move_items(unfolding, &unwinder->ranges, false);
    code = code ? code : move_items(unfolding, &unwinder->branches, true);
    tail_calls_free(&unfolding->tail_calls);
    BAT_FREE_ALL(unfolding->sampled, unfolding->calls);
    return code;
}

enum bat_code unwinder_unfold(struct unwinder *unwinder, const struct probe_functions *functions,
                              const struct bat_original *original)
{
    struct unfolding unfolding = {.unwinder = unwinder};
    enum bat_code code = folded_open(&unfolding.folded, original);
    if (code == BAT_OK && unfolding.folded.body_count != 0)
        code = move_all(&unfolding, functions);
    folded_close(&unfolding.folded);
    return code;
}
