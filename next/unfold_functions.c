/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Divides the counts of an old function that the linker had put in place of several. */
#include "carrying.h"
#include "spec/order.h"

/* Folded functions call others: the shares of those are known one step later. */
#define PASSES 16u

struct next_members next_members_of(const struct next_carrying *carrying, uint32_t old_unit)
{
    if (carrying->member_count == 0)
        return (struct next_members){0};
    const size_t first =
        BAT_COUNT_BELOW(carrying->members, carrying->member_count, old_unit, old_unit);
    struct next_members found = {.all = carrying->members + first};
    while (first + found.count < carrying->member_count &&
           found.all[found.count].old_unit == old_unit)
        found.count++;
    return found;
}

/* Keep the members whose code is that of the old function; those that are alone are none. */
static enum bat_code choose_members(struct next_carrying *carrying)
{
    const struct next_pairs *pairs = &carrying->pairs;
    struct next_member *members = carrying->members;
    size_t kept = 0;
    BAT_SORT_BY_TWO(members, carrying->member_count, old_unit, new_unit);
    for (size_t i = 0; i < carrying->member_count; i++) {
        const struct next_member member = members[i];
        const struct next_unit *code;
        const bool is_double = kept != 0 && members[kept - 1].old_unit == member.old_unit &&
                               members[kept - 1].new_unit == member.new_unit;
        const uint32_t owner = pairs->old_of[member.new_unit];
        if (is_double || !carrying->is_same[member.old_unit] ||
            (owner != BAT_NONE && owner != member.old_unit))
            continue;
        BAT_TRY(next_unit_get(&carrying->news, member.new_unit, &code, carrying->error));
        if (next_same_that_ran(carrying->olds.units[member.old_unit], code,
                               carrying->measured.units[member.old_unit]))
            members[kept++] = member;
    }
    carrying->member_count = kept;
    kept = 0;
    for (size_t i = 0; i < carrying->member_count;) {
        const struct next_members group = next_members_of(carrying, members[i].old_unit);
        i += group.count;
        for (size_t k = 0; group.count > 1 && k < group.count; k++)
            members[kept++] = group.all[k];
    }
    carrying->member_count = kept;
    return BAT_OK;
}

/* Count a call of a member, if the code of a unit, which is that of the old one with the call,
 * calls one. */
static void add_call(const struct next_carrying *carrying, const struct next_members *group,
                     const struct next_call *call, uint32_t new_unit, double count)
{
    const struct next_program *olds = &carrying->olds;
    const struct next_program *news = &carrying->news;
    struct next_place place;
    if (!next_same_place(olds, olds->units[olds->unit_of[call->function]], news->units[new_unit],
                         call->function, call->offset, &place) ||
        place.instruction->callee == BAT_NONE)
        return;
    const uint32_t called = news->unit_of[place.instruction->callee];
    const size_t i = BAT_COUNT_BELOW(group->all, group->count, new_unit, called);
    if (i < group->count && group->all[i].new_unit == called)
        group->all[i].found += count;
}

/* Count the calls of members, with what is known so far of the members that call. */
static void add_calls(const struct next_carrying *carrying)
{
    const struct next_program *olds = &carrying->olds;
    for (size_t i = 0; i < carrying->member_count; i++)
        carrying->members[i].found = 0;
    for (size_t i = 0; i < carrying->measured.call_count; i++) {
        const struct next_call *call = &carrying->measured.calls[i];
        const uint32_t caller = olds->unit_of[call->function];
        const uint32_t called = call->target == BAT_NONE ? BAT_NONE : olds->unit_of[call->target];
        const uint64_t *item = bat_records_branch(carrying->measured.records, call->item);
        if (called == BAT_NONE || caller == BAT_NONE || called == caller || item[3] != 0 ||
            !carrying->is_same[caller])
            continue;
        const struct next_members group = next_members_of(carrying, called);
        if (group.count == 0)
            continue;
        const struct next_members callers = next_members_of(carrying, caller);
        if (callers.count == 0)
            add_call(carrying, &group, call, carrying->pairs.new_of[caller], (double)call->count);
        for (size_t k = 0; k < callers.count; k++)
            add_call(carrying, &group, call, callers.all[k].new_unit,
                     (double)call->count * callers.all[k].share);
    }
}

static double known_calls(const struct next_members *group)
{
    double sum = 0;
    for (size_t i = 0; i < group->count; i++)
        sum += group->all[i].found;
    return sum;
}

/* Set the shares of a group by the calls that were counted. True if one changed. */
static bool divide(struct next_members *group)
{
    const double known = known_calls(group);
    bool changed = false;
    for (size_t i = 0; i < group->count; i++) {
        struct next_member *member = &group->all[i];
        const double share = known > 0 ? member->found / known : 0;
        changed = changed || share != member->share;
        member->share = share;
    }
    return changed;
}

/* Set where the shares end, and what the report says of the group: the entries that no counted call
 * explains are guessed. */
static void finish(struct next_carrying *carrying, struct next_members *group)
{
    const double known = known_calls(group);
    struct next_report *report = carrying->report;
    const struct next_counts *counts = carrying->measured.units[group->all->old_unit];
    const double entries = (double)counts->entry;
    const double guessed = known < entries ? 1 - known / entries : 0;
    double end = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct next_member *member = &group->all[i];
        end += known > 0 ? member->share : 1 / (double)group->count;
        member->end = i + 1 == group->count ? 1 : end;
        carrying->pairs.old_of[member->new_unit] = member->old_unit;
    }
    report->unfolded.functions += group->count - 1;
    report->unfolded.count += counts->total;
    report->unfolded_guessed += (uint64_t)((double)counts->total * guessed + 0.5);
}

enum bat_code next_unfold(struct next_carrying *carrying)
{
    BAT_TRY(choose_members(carrying));
    bool changed = carrying->member_count != 0;
    for (unsigned pass = 0; pass < PASSES && changed; pass++) {
        add_calls(carrying);
        changed = false;
        for (size_t i = 0; i < carrying->member_count;) {
            struct next_members group = next_members_of(carrying, carrying->members[i].old_unit);
            changed = divide(&group) || changed;
            i += group.count;
        }
    }
    for (size_t i = 0; i < carrying->member_count;) {
        struct next_members group = next_members_of(carrying, carrying->members[i].old_unit);
        finish(carrying, &group);
        i += group.count;
    }
    return BAT_OK;
}
