/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reports findings to the caller. */
#include "checking.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "encoder/encoding.h"
#include "spec/array.h"
#include "spec/escape_controls.h"

static void deliver(struct bat_checking *checking, const struct bat_finding *finding)
{
    struct bat_verdict *verdict = checking->verdict;
    switch (finding->severity) {
    case BAT_NOTE:
        verdict->notes++;
        break;
    case BAT_WARNING:
        verdict->warnings++;
        break;
    case BAT_ERROR:
        verdict->errors++;
        break;
    }
    if (checking->receive)
        checking->receive(finding, checking->context);
}

/*
 * Fill checking->table_offsets. The decoder does not keep them, and only findings need them, so the
 * encoder reports them when there is a finding: it makes the bytes that were decoded. They stay
 * NULL without a note or memory.
 */
static void locate(struct bat_checking *checking)
{
    if (checking->is_located)
        return;
    checking->is_located = true;
    const size_t tables = bat_map_tables(checking->map);
    uint64_t *offsets = checking->binary->note ? bat_array_new(tables, sizeof(*offsets)) : NULL;
    uint8_t *encoded = NULL;
    size_t size;
    if (offsets && bat_encode_places(checking->map, offsets, &encoded, &size, NULL) == BAT_OK)
        checking->table_offsets = offsets;
    else
        free(offsets);
    free(encoded);
}

static struct bat_finding new_finding(struct bat_checking *checking, enum bat_check_id check,
                                      uint32_t table, uint32_t entry)
{
    const struct bat_check *of = bat_check_of(check);
    struct bat_finding finding = {
        .severity = of->severity,
        .check = of->id,
        .table = table,
        .entry = entry,
        .offset = BAT_NO_OFFSET,
    };
    if (table != BAT_NONE) {
        locate(checking);
        if (checking->table_offsets)
            finding.offset = checking->table_offsets[table];
    }
    return finding;
}

/* Consumes arguments. Names in a message may hold any bytes, so control characters are escaped. */
static BAT_PRINTF(3, 0) void fill_message(char *message, size_t size, const char *format,
                                          va_list arguments)
{
    vsnprintf(message, size, format, arguments);
    bat_escape_message(message, size);
}

void bat_checking_find(struct bat_checking *checking, enum bat_check_id check, uint32_t table,
                       uint32_t entry, const char *format, ...)
{
    struct bat_finding finding = new_finding(checking, check, table, entry);
    va_list arguments;
    va_start(arguments, format);
    fill_message(finding.message, sizeof(finding.message), format, arguments);
    va_end(arguments);
    deliver(checking, &finding);
}

void bat_checking_find_undecodable(struct bat_checking *checking, const struct bat_error *error)
{
    struct bat_finding finding = {
        .severity = BAT_ERROR,
        .check = bat_code_name(error->code),
        .table = BAT_NONE,
        .entry = BAT_NONE,
        .offset = error->place == BAT_PLACE_SECTION ? error->offset : BAT_NO_OFFSET,
    };
    snprintf(finding.message, sizeof(finding.message), "%s", error->message);
    deliver(checking, &finding);
}

void bat_fault_add(struct bat_fault *fault, uint32_t table, uint32_t entry, const char *format, ...)
{
    if (fault->count++ != 0)
        return;
    fault->table = table;
    fault->entry = entry;
    va_list arguments;
    va_start(arguments, format);
    fill_message(fault->message, sizeof(fault->message), format, arguments);
    va_end(arguments);
}

void bat_fault_report(struct bat_checking *checking, const struct bat_fault *fault,
                      const char *thing)
{
    if (fault->count == 0)
        return;
    if (fault->count == 1)
        bat_checking_find(checking, fault->check, fault->table, fault->entry, "%s", fault->message);
    else
        bat_checking_find(checking, fault->check, fault->table, fault->entry,
                          "%s (the first of %lu such %s)", fault->message, fault->count, thing);
}
