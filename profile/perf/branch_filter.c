/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "branch_filter.h"

#include <stdio.h>
#include <string.h>

#include "format.h"
#include "profile/profile.h"

/* As perf record -j and as perf script's header name them. */
static const struct {
    uint64_t bit;
    const char *option;
    const char *name;
} filters[] = {
    {BRANCH_ANY, "any", "ANY"},
    {BRANCH_ANY_CALL, "any_call", "ANY_CALL"},
    {BRANCH_ANY_RETURN, "any_ret", "ANY_RETURN"},
    {BRANCH_IND_CALL, "ind_call", "IND_CALL"},
    {BRANCH_ABORT_TX, "abort_tx", "ABORT_TX"},
    {BRANCH_IN_TX, "in_tx", "IN_TX"},
    {BRANCH_NO_TX, "no_tx", "NO_TX"},
    {BRANCH_COND, "cond", "COND"},
    {BRANCH_CALL_STACK, "stack", "CALL_STACK"},
    {BRANCH_IND_JUMP, "ind_jmp", "IND_JUMP"},
    {BRANCH_CALL, "call", "CALL"},
};

#define FILTERS (sizeof(filters) / sizeof(filters[0]))

uint64_t perf_branch_filter(uint64_t branch_type)
{
    const uint64_t transactions = branch_type & (BRANCH_IN_TX | BRANCH_NO_TX);
    const uint64_t kinds =
        branch_type & (BRANCH_ANY_CALL | BRANCH_ANY_RETURN | BRANCH_IND_CALL | BRANCH_ABORT_TX |
                       BRANCH_COND | BRANCH_IND_JUMP | BRANCH_CALL);
    if (branch_type & BRANCH_CALL_STACK)
        return BRANCH_CALL_STACK;
    /* A branch has to be of one of the kinds, and inside or outside of transactions. */
    return (branch_type & BRANCH_ANY ? 0 : kinds) |
           (transactions == (BRANCH_IN_TX | BRANCH_NO_TX) ? 0 : transactions);
}

uint64_t perf_branch_filter_of_line(const uint8_t *start, const uint8_t *newline)
{
    static const char field[] = "branch_sample_type = ";
    if (*start != '#')
        return 0;
    const char *at = memmem(start, (size_t)(newline - start), field, sizeof(field) - 1);
    uint64_t type = 0;
    for (at = at ? at + sizeof(field) - 1 : NULL; at; at = *at == '|' ? at + 1 : NULL) {
        /* The newline ends the last name. */
        const size_t size = strcspn(at, "|, \n");
        for (size_t i = 0; i < FILTERS; i++)
            if (strlen(filters[i].name) == size && memcmp(at, filters[i].name, size) == 0)
                type |= filters[i].bit;
        at += size;
    }
    return perf_branch_filter(type);
}

size_t perf_branch_filter_names(uint64_t filter, char *names, size_t size)
{
    size_t length = 0;
    *names = '\0';
    for (size_t i = 0; i < FILTERS; i++) {
        const size_t at = length < size ? length : size;
        if (filter & filters[i].bit)
            length += (size_t)snprintf(names + at, size - at, "%s%s", length == 0 ? "" : ",",
                                       filters[i].option);
    }
    return length;
}

size_t bat_profile_branch_filter(const struct bat_profile *profile, char *names, size_t size)
{
    return perf_branch_filter_names(profile->branch_filter, names, size);
}
