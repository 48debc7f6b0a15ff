/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stretches of a line, and what they say of an offset. */
#include "stack_lines.h"
#include <string.h>

struct bat_slice bat_trimmed_slice(const char *start, const char *end)
{
    while (start != end && scan_is_space(*start))
        start++;
    while (start != end && scan_is_space(end[-1]))
        end--;
    return (struct bat_slice){start, (size_t)(end - start)};
}

/* The last occurrence of wanted in text, or NULL. */
static const char *last_place(struct bat_slice text, const char *wanted)
{
    size_t length = strlen(wanted);
    for (size_t at = text.length; at >= length; at--)
        if (memcmp(text.text + at - length, wanted, length) == 0)
            return text.text + at - length;
    return NULL;
}

void bat_split_name_offset(struct bat_slice name, struct bat_stack_line *read)
{
    read->name = name;
    const char *plus = last_place(name, "+0x");
    if (!plus)
        return;
    struct scan offset = {plus + 1, name.text + name.length};
    uint64_t value;
    if (!scan_0x(&offset, &value) || offset.at != offset.end)
        return;
    read->name.length = (size_t)(plus - name.text);
    read->name_offset = value;
    read->has_name_offset = true;
}

bool bat_split_module_offset(struct bat_slice text, const char *plus, struct bat_stack_line *read)
{
    const char *place = last_place(text, plus);
    if (!place || place == text.text)
        return false;
    /* plus ends in "0x". */
    struct scan offset = {place + strlen(plus) - 2, text.text + text.length};
    uint64_t value;
    if (!scan_0x(&offset, &value) || offset.at != offset.end)
        return false;
    read->module = (struct bat_slice){text.text, (size_t)(place - text.text)};
    read->module_offset = value;
    read->has_module_offset = true;
    return true;
}
