/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fragment_name.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS_MAX 20u /* of a number of 64 bits: in a damaged file, digits may go on and on */
#define SUFFIX_SIZE 5u /* of ".cold" and ".warm" */

static bool is_suffix(const char *text)
{
    return text[0] == '.' &&
           (strncmp(text, ".cold", SUFFIX_SIZE) == 0 || strncmp(text, ".warm", SUFFIX_SIZE) == 0);
}

size_t name_without_number(const char *name, size_t length, char separator)
{
    size_t end = length;
    while (end > 0 && length - end <= DIGITS_MAX && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    return end > 0 && end < length && name[end - 1] == separator ? end - 1 : length;
}

size_t fragment_name_stem(const char *name, size_t length)
{
    size_t end = name_without_number(name, length, '.');
    return end > SUFFIX_SIZE && is_suffix(name + end - SUFFIX_SIZE) ? end - SUFFIX_SIZE : 0;
}

size_t fragment_name_any_stem(const char *name)
{
    size_t found = 0;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
        if (is_suffix(dot))
            found = (size_t)(dot - name);
    return found;
}
