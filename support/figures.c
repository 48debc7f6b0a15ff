/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "figures.h"

#include <string.h>

double figures_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

void figures_add(struct figures *figures, const struct figure *more, size_t count)
{
    memcpy(figures->all + figures->count, more, count * sizeof(*more));
    figures->count += count;
}

void figures_print(FILE *file, bool as_json, int columns, const struct figures *figures)
{
    for (size_t i = 0; i < figures->count; i++) {
        const struct figure *figure = &figures->all[i];
        int indent = figure->whole ? 2 : 0;
        if (as_json) {
            fprintf(file, "%s\"%s\":%lu", i ? "," : "{", figure->key, figure->value);
            continue;
        }
        fprintf(file, "%*s%-*s %14lu", indent, "", columns - indent, figure->label, figure->value);
        if (figure->whole)
            fprintf(file, "  %5.1f%%", figures_percent(figure->value, figure->whole));
        fputc('\n', file);
    }
}
