/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The programs of tests/data/demo, which are part of the fuzz targets that need a real binary. */
#pragma once

/* The path of small.bolt, and of small, its input: temporary files that exist until the process
 * exits. */
const char *demo_bolted(void);
const char *demo_input(void);
