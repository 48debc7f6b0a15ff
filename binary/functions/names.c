/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"

#include <stdlib.h>
#include <string.h>

/* Makes the names of functions. Those of the file are copied, because it may be changed. */

/* The most bytes of a name besides the strings that it is made of. */
#define FIXED_MAX 48u

#define ANONYMOUS_PREFIX "ANONYMOUS."
#define FDE_PREFIX "__BOLT_FDE_FUNCat"
#define PSEUDO_PREFIX "__BOLT_PSEUDO_"
#define PLT_SUFFIX "@PLT"

/* LLVM puts this before names like those of private labels, so that the symbols stay visible. */
#define PRIVATE_PREFIX "PG"

/* --- Sizes -------------------------------------------------------------------------------- */

/* Bytes of the strings that a name is made of. */
static size_t string_size(const struct draft *draft, const struct draft_naming *naming)
{
    const struct draft_symbols *symbols = &draft->symbols;
    switch (naming->name) {
    case DRAFT_NAME_FILE:
        return strlen(draft_symbol_name(symbols, &symbols->all[naming->symbol])) +
               strlen(draft_file(symbols, symbols->all[naming->symbol].file));
    case DRAFT_NAME_PLAIN:
    case DRAFT_NAME_LOCAL:
    case DRAFT_NAME_PLT:
        return strlen(draft_symbol_name(symbols, &symbols->all[naming->symbol]));
    case DRAFT_NAME_PLT_TEXT:
        return strlen(draft->texts[naming->symbol]);
    default:
        return 0;
    }
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
        size_t strings = string_size(draft, &draft->functions.namings[i]);
        BAT_TRY(bat_budget_spend_names(&draft->symbols.names, strings, error));
        *size += strings + FIXED_MAX;
    }
    return BAT_OK;
}

/* --- Writing ------------------------------------------------------------------------------ */

/* Where names are written. Strings that have become longer meanwhile are cut. */
struct text {
    char *at;
    char *end; /* of the memory; there is always room for a zero byte */
};

static void put_bytes(struct text *text, const char *bytes, size_t size)
{
    size_t room = (size_t)(text->end - text->at) - 1;
    text->at = mempcpy(text->at, bytes, size < room ? size : room);
}

static void put_string(struct text *text, const char *string)
{
    put_bytes(text, string, strlen(string));
}

static void put_symbol(struct text *text, const struct draft_symbols *symbols, uint32_t symbol)
{
    if (symbols->all[symbol].is_private)
        put_string(text, PRIVATE_PREFIX);
    put_string(text, draft_symbol_name(symbols, &symbols->all[symbol]));
}

static void put_digits(struct text *text, uint64_t value, unsigned base)
{
    char digits[20]; /* 2^64 - 1 has 20 digits in base 10 */
    size_t first = sizeof(digits);
    do {
        digits[--first] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    put_bytes(text, digits + first, sizeof(digits) - first);
}

static void put_number(struct text *text, uint32_t number)
{
    put_string(text, "/");
    put_digits(text, number, 10);
}

static void put_name(const struct draft *draft, const struct draft_naming *naming, uint64_t address,
                     struct text *text)
{
    const struct draft_symbols *symbols = &draft->symbols;
    const uint32_t symbol = naming->symbol;
    switch ((enum draft_name)naming->name) {
    case DRAFT_NAME_PLAIN:
        put_symbol(text, symbols, symbol);
        return;
    case DRAFT_NAME_LOCAL:
        put_symbol(text, symbols, symbol);
        put_number(text, draft_number(symbols->numbers, symbol));
        return;
    case DRAFT_NAME_FILE:
        put_symbol(text, symbols, symbol);
        put_string(text, "/");
        put_string(text, draft_file(symbols, symbols->all[symbol].file));
        put_number(text, draft_number(symbols->file_numbers, symbol));
        return;
    case DRAFT_NAME_ANONYMOUS:
        put_string(text, ANONYMOUS_PREFIX);
        put_digits(text, (uint64_t)draft_number(symbols->numbers, symbol) - 1, 10);
        return;
    case DRAFT_NAME_PLT:
        put_symbol(text, symbols, symbol);
        if (draft_number(symbols->numbers, symbol) != 0)
            put_number(text, draft_number(symbols->numbers, symbol));
        put_string(text, PLT_SUFFIX);
        return;
    case DRAFT_NAME_PLT_TEXT:
        put_string(text, draft->texts[naming->symbol]);
        put_string(text, PLT_SUFFIX);
        return;
    case DRAFT_NAME_PSEUDO:
        put_string(text, PSEUDO_PREFIX);
        put_string(text, draft_section(draft, naming)->name);
        return;
    case DRAFT_NAME_FDE:
        put_string(text, FDE_PREFIX);
        put_digits(text, address, 16);
        return;
    }
}

enum bat_code draft_write_names(struct draft *draft, const uint8_t *wanted,
                                struct bat_function_symbol *to, char **memory,
                                struct bat_error *error)
{
    size_t size;
    *memory = NULL;
    BAT_TRY(measure(draft, wanted, &size, error));
    struct text text = {.at = *memory = malloc(size)};
    BAT_TRY_MEMORY(text.at, error, "for the names of %u functions", draft->functions.count);
    text.end = text.at + size;
    for (uint32_t i = 0; i < draft->functions.count; i++) {
        if (!is_wanted(wanted, i))
            continue;
        to[i].name = text.at;
        put_name(draft, &draft->functions.namings[i], to[i].address, &text);
        *text.at = '\0';
        text.at += text.at + 1 < text.end;
    }
    return BAT_OK;
}
