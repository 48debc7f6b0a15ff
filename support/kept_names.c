/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "kept_names.h"

#include <stdio.h>
#include <string.h>

#define GROWN_TIMES 16
#define GROWN_MAX ((size_t)4 << 20)

bool kept_names_has_room(struct kept_names *kept, const char *name, size_t length)
{
    if (length / GROWN_TIMES <= strlen(name))
        return true;
    if (length > GROWN_MAX - kept->grown) {
        kept->left++;
        return false;
    }
    kept->grown += length;
    return true;
}

bool kept_names_warning(const struct kept_names *kept, char text[KEPT_NAMES_WARNING_SIZE])
{
    if (kept->left == 0)
        return false;
    snprintf(text, KEPT_NAMES_WARNING_SIZE,
             "%zu names are left as the linker has them: they and others are more than 16 times as "
             "long in the source, and would take too much memory",
             kept->left);
    return true;
}
