/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Makes the names of functions: pointers into the file if it has the name, else new text. */

/* The most bytes of a name besides the strings that it is made of. */
#define FIXED_MAX 48u

#define ANONYMOUS_PREFIX "ANONYMOUS."
#define FDE_PREFIX "__BOLT_FDE_FUNCat"
#define PSEUDO_PREFIX "__BOLT_PSEUDO_"
#define PLT_SUFFIX "@PLT"

/* LLVM puts this before names like those of private labels, so that the symbols stay visible. */
#define PRIVATE_PREFIX "PG"

/* --- Sizes -------------------------------------------------------------------------------- */

/* Bytes of the strings that a name is made of; *is_made is false if the file has the whole name. */
static size_t string_size(const struct draft *draft, const struct draft_naming *naming,
                          bool *is_made)
{
    *is_made = true;
    switch (naming->name) {
    case DRAFT_NAME_PLAIN:
    case DRAFT_NAME_LOCAL:
    case DRAFT_NAME_FILE: {
        const struct draft_symbol *symbol = &draft->symbols.all[naming->symbol];
        *is_made = naming->name != DRAFT_NAME_PLAIN || symbol->is_private;
        if (!*is_made)
            return 0;
        return symbol->length + (naming->name == DRAFT_NAME_FILE
                                     ? strlen(draft_symbol_file(&draft->symbols, symbol))
                                     : 0);
    }
    case DRAFT_NAME_PLT:
        return draft->symbols.all[naming->symbol].length;
    case DRAFT_NAME_PLT_TEXT:
        return strlen(draft->texts[naming->symbol]);
    case DRAFT_NAME_ANONYMOUS:
    case DRAFT_NAME_PSEUDO:
    case DRAFT_NAME_FDE:
        break;
    }
    return 0;
}

static bool is_wanted(const uint8_t *wanted, uint32_t function)
{
    return !wanted || wanted[function];
}

static enum bat_code measure(struct draft *draft, const uint8_t *wanted, size_t *size,
                             struct bat_error *error)
{
    *size = 1;
    for (uint32_t i = 0; i < draft->functions.count; i++) {
        if (!is_wanted(wanted, i))
            continue;
        bool is_made;
        size_t strings = string_size(draft, &draft->functions.namings[i], &is_made);
        BAT_TRY(bat_budget_spend_names(&draft->symbols.names, strings, error));
        *size += is_made ? strings + FIXED_MAX : 0;
    }
    return BAT_OK;
}

/* --- Writing ------------------------------------------------------------------------------ */

/* All of these write a terminated string to `at` and return the address of its zero byte. */

static char *put_string(char *at, const char *string)
{
    return stpcpy(at, string);
}

static char *put_symbol(char *at, const struct draft_symbol *symbol)
{
    if (symbol->is_private)
        at = put_string(at, PRIVATE_PREFIX);
    memcpy(at, symbol->name, symbol->length + (size_t)1);
    return at + symbol->length;
}

static char *put_digits(char *at, uint64_t value, unsigned base)
{
    char digits[20]; /* 2^64 - 1 has 20 digits in base 10 */
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        *at++ = digits[--count];
    *at = '\0';
    return at;
}

static char *put_number(char *at, uint32_t number)
{
    return put_digits(put_string(at, "/"), number, 10);
}

static char *put_name(const struct draft *draft, const struct draft_naming *naming,
                      uint64_t address, char *at)
{
    const struct draft_symbol *symbol;
    switch (naming->name) {
    case DRAFT_NAME_PLAIN:
    case DRAFT_NAME_LOCAL:
    case DRAFT_NAME_FILE:
        symbol = &draft->symbols.all[naming->symbol];
        at = put_symbol(at, symbol);
        if (naming->name == DRAFT_NAME_PLAIN)
            return at;
        if (naming->name == DRAFT_NAME_LOCAL)
            return put_number(at, symbol->number);
        at = put_string(put_string(at, "/"), draft_symbol_file(&draft->symbols, symbol));
        return put_number(at, symbol->file_number);
    case DRAFT_NAME_ANONYMOUS:
        symbol = &draft->symbols.all[naming->symbol];
        return put_digits(put_string(at, ANONYMOUS_PREFIX), symbol->number - 1, 10);
    case DRAFT_NAME_PLT:
        symbol = &draft->symbols.all[naming->symbol];
        at = put_symbol(at, symbol);
        if (symbol->number)
            at = put_number(at, symbol->number);
        return put_string(at, PLT_SUFFIX);
    case DRAFT_NAME_PLT_TEXT:
        return put_string(put_string(at, draft->texts[naming->symbol]), PLT_SUFFIX);
    case DRAFT_NAME_PSEUDO:
        return put_string(put_string(at, PSEUDO_PREFIX), draft_section(draft, naming)->name);
    case DRAFT_NAME_FDE:
        return put_digits(put_string(at, FDE_PREFIX), address, 16);
    }
    return at;
}

enum bat_code draft_write_names(struct draft *draft, const uint8_t *wanted,
                                struct bat_function_symbol *to, char **text,
                                struct bat_error *error)
{
    size_t size;
    *text = NULL;
    BAT_TRY(measure(draft, wanted, &size, error));
    char *at = *text = malloc(size);
    if (!at)
        return bat_fail_memory(error, "for the names of %" PRIu32 " functions",
                               draft->functions.count);
    for (uint32_t i = 0; i < draft->functions.count; i++) {
        const struct draft_naming *naming = &draft->functions.namings[i];
        if (!is_wanted(wanted, i))
            continue;
        if (naming->name == DRAFT_NAME_PLAIN) {
            const struct draft_symbol *symbol = &draft->symbols.all[naming->symbol];
            if (!symbol->is_private) {
                to[i].name = symbol->name;
                continue;
            }
        }
        to[i].name = at;
        at = put_name(draft, naming, to[i].address, at) + 1;
    }
    return BAT_OK;
}
