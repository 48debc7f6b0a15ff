/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "name_parts.h"

#include <string.h>

#define DIGITS_MAX 20u /* of a number of 64 bits: in a damaged file, digits may go on and on */

/* The length without suffix at the end; length if that is not there, or nothing else. */
static size_t without(const char *name, size_t length, const char *suffix)
{
    size_t size = strlen(suffix);
    bool is_there = length > size && memcmp(name + length - size, suffix, size) == 0;
    return is_there ? length - size : length;
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
    size_t stem = without(name, end, ".cold");
    stem = stem == end ? without(name, end, ".warm") : stem;
    return stem == end ? 0 : stem;
}

size_t fragment_name_any_stem(const char *name)
{
    size_t found = 0;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
        if (strncmp(dot, ".cold", 5) == 0 || strncmp(dot, ".warm", 5) == 0)
            found = (size_t)(dot - name);
    return found;
}

size_t patched_name_stem(const char *name, size_t length)
{
    size_t end = name_without_number(name, length, '.');
    size_t stem = without(name, end, ".org");
    return end == length || stem == end ? 0 : stem;
}

/* The length without suffix and the word behind it, as in ".part.1", if the name has these. */
static size_t cut(const char *name, size_t length, const char *suffix)
{
    const char *dot = memrchr(name, '.', length);
    size_t size = strlen(suffix);
    size_t before = dot ? (size_t)(dot - name) + 1 : 0;
    if (before < size || memcmp(name + before - size, suffix, size) != 0)
        return length;
    return before - size;
}

size_t profile_name_length(const char *name)
{
    return cut(name, cut(name, strlen(name), ".llvm."), ".part.");
}

size_t unnumbered_name_length(const char *name)
{
    size_t length = strlen(name);
    size_t end = name_without_number(name, length, '/');
    const char *slash = end < length ? memrchr(name, '/', end) : NULL;
    bool has_file = slash && slash != name && slash + 1 != name + end;
    return has_file ? (size_t)(slash - name) : end > 0 ? end : length;
}

bool name_is_of_part(const char *name, size_t length)
{
    static const char *const words[] = {"cold",    "warm",    "__part", "resume",
                                        "destroy", "cleanup", "actor"};
    const char *end = name + length;
    for (const char *dot = memchr(name, '.', length); dot && dot < end;) {
        const char *word = dot + 1;
        dot = memchr(word, '.', (size_t)(end - word));
        size_t size = (size_t)((dot ? dot : end) - word);
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
            if (strlen(words[i]) == size && memcmp(word, words[i], size) == 0)
                return true;
    }
    return false;
}
