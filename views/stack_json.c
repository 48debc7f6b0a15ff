/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stack_tables.h"

void stack_json_string(struct bat_text_writer *text, const char *string)
{
    bat_text_string(text, "\"");
    for (;;) {
        /* Clean names have no controls: quotes and backslashes alone need an escape. */
        size_t plain = strcspn(string, "\"\\");
        bat_text_bytes(text, string, plain);
        string += plain;
        if (!*string)
            break;
        const char escape[2] = {'\\', *string++};
        bat_text_bytes(text, escape, sizeof(escape));
    }
    bat_text_string(text, "\"");
}

void stack_json_number(struct bat_text_writer *text, uint64_t number)
{
    bat_text_end(text, bat_put_decimal(bat_text_room(text, 24), number));
}
