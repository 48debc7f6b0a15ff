/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "bat_decoder.h"
#include "binary/functions/functions.h"
#include "note_text.h"

enum bat_code find_profile_name(const struct bat_binary *binary, const char *name,
                                void (*found)(void *context, uint32_t table), void *context,
                                struct bat_error *error)
{
    struct bat_functions *functions = NULL;
    BAT_TRY(bat_functions_create(binary->elf, NULL, &functions, error));
    uint32_t count = 0;
    const struct bat_function_symbol *all = bat_functions_all(functions, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t table = bat_map_table_at(binary->map, all[i].address);
        if (table != BAT_NONE && all[i].name && strcmp(all[i].name, name) == 0)
            found(context, table);
    }
    bat_functions_free(functions);
    return BAT_OK;
}
