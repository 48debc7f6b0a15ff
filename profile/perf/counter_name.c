/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names of events. */
#include <stdio.h>

#include "attributes.h"

/* The values of perf_event_attr.type whose events have names. */
enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE = 1 };

static const char *const hardware_names[] = {
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
};

static const char *const software_names[] = {
    "cpu-clock",    "task-clock",   "page-faults",      "context-switches", "cpu-migrations",
    "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Append the modifiers behind the colon: which modes the event counts, and how precise it is. */
static void append_modifiers(const struct perf_attribute *attribute, char *buffer, size_t size)
{
    char text[16] = "";
    size_t length = 0;
    uint64_t excluded =
        attribute->flags & (FLAG_EXCLUDE_USER | FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HV);
    if (excluded) {
        if (!(excluded & FLAG_EXCLUDE_USER))
            text[length++] = 'u';
        if (!(excluded & FLAG_EXCLUDE_KERNEL))
            text[length++] = 'k';
        if (!(excluded & FLAG_EXCLUDE_HV))
            text[length++] = 'h';
    }
    for (uint64_t i = attribute->flags >> FLAG_PRECISE_SHIFT & 3; i != 0; i--)
        text[length++] = 'p';
    size_t used = strlen(buffer);
    if (length != 0)
        snprintf(buffer + used, size - used, ":%s", text);
}

void perf_attribute_name(const struct perf_attribute *attribute, char *buffer, size_t size)
{
    uint64_t config = attribute->config;
    if (attribute->name) {
        snprintf(buffer, size, "%s", attribute->name);
        return;
    }
    if (attribute->type == TYPE_HARDWARE && config < COUNT(hardware_names))
        snprintf(buffer, size, "%s", hardware_names[config]);
    else if (attribute->type == TYPE_SOFTWARE && config < COUNT(software_names))
        snprintf(buffer, size, "%s", software_names[config]);
    else
        snprintf(buffer, size, "type%u-0x%lx", attribute->type, config);
    append_modifiers(attribute, buffer, size);
}
