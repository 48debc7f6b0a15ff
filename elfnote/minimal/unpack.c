/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In a minimal build, which has neither liblzma nor zlib, nothing is known to be packed. */
#include "elfnote/unpack.h"

enum bat_packing bat_packing_of(const void *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return BAT_PACKING_NONE;
}

enum bat_code bat_unpack(const char *what, enum bat_packing packing, const uint8_t *bytes,
                         size_t size, size_t limit, bat_unpacked_check_fn *check,
                         struct bat_unpacked *unpacked, struct bat_error *error)
{
    (void)what;
    (void)packing;
    (void)bytes;
    (void)size;
    (void)limit;
    (void)check;
    (void)unpacked;
    return bat_fail(error, BAT_ERR_UNSUPPORTED, "cannot be unpacked by a minimal build");
}

enum bat_code bat_unpacked_file(const struct bat_unpacked *unpacked, int *file,
                                struct bat_error *error)
{
    (void)unpacked;
    *file = -1;
    return bat_fail(error, BAT_ERR_UNSUPPORTED, "cannot be unpacked by a minimal build");
}
