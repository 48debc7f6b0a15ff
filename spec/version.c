/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <batkit/bat_version.h>

const char *bat_version(void)
{
    return BATKIT_VERSION;
}

uint32_t bat_version_number(void)
{
    return BATKIT_VERSION_NUMBER;
}
