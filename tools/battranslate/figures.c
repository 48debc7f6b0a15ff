/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "translate_report.h"

#include <inttypes.h>

double figures_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

void figures_print(FILE *file, bool as_json, int columns, const struct figure *figures,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct figure *figure = &figures[i];
        int indent = figure->whole ? 2 : 0;
        if (as_json) {
            fprintf(file, "%s\"%s\":%" PRIu64, i ? "," : "{", figure->key, figure->value);
            continue;
        }
        fprintf(file, "%*s%-*s %14" PRIu64, indent, "", columns - indent, figure->label,
                figure->value);
        if (figure->whole)
            fprintf(file, "  %5.1f%%", figures_percent(figure->value, figure->whole));
        fputc('\n', file);
    }
}
