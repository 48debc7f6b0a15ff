/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "options.h"

#include <string.h>

/* No later version of a structure is larger by more than that. */
#define OPTIONS_GROWTH 4096u

enum bat_code bat_options_copy(void *own, size_t own_size, const void *given, const char *name,
                               struct bat_error *error)
{
    memset(own, 0, own_size);
    if (!given) {
        memcpy(own, &own_size, sizeof(own_size));
        return BAT_OK;
    }
    size_t size;
    memcpy(&size, given, sizeof(size));
    if (size <= sizeof(size) || size > own_size + OPTIONS_GROWTH)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected the size of struct %s in its first member, found %zu", name,
                        size);
    const unsigned char *bytes = given;
    for (size_t i = own_size; i < size; i++)
        if (bytes[i] != 0)
            return bat_fail(error, BAT_ERR_ARGUMENT,
                            "expected a struct %s of at most %zu bytes, found a member set at byte "
                            "%zu: this libbatkit is older than the program's",
                            name, own_size, i);
    memcpy(own, given, size < own_size ? size : own_size);
    memcpy(own, &own_size, sizeof(own_size));
    return BAT_OK;
}
