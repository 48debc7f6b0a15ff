/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* MD5 (RFC 1321), which LLVM numbers functions by. Not for secrets. Internal to the library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first 8 bytes of the digest as a little-endian number. */
uint64_t bat_md5_low(const void *bytes, size_t size);
