/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "bat_probes.h"
#include "support/md5.h"

uint64_t bat_probe_guid(const char *name, size_t length)
{
    return bat_md5_low(name, length);
}

size_t bat_probe_name_length(const char *name, size_t length)
{
    static const char *const suffixes[] = {".destroy", ".resume", ".llvm.", ".cold", ".warm"};
    /* Nearly all names are without a dot. */
    const char *dot = memchr(name, '.', length);
    const size_t before = dot ? (size_t)(dot - name) : length;
    for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        const char *found = memmem(dot, length - before, suffixes[i], strlen(suffixes[i]));
        if (found)
            return (size_t)(found - name);
    }
    return length;
}
