/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate --for: carries records of one build of a program to another build. */
#ifndef BAT_TOOLS_BATTRANSLATE_CARRY_NEXT_H
#define BAT_TOOLS_BATTRANSLATE_CARRY_NEXT_H

#include <stdio.h>

#include "bat_binary.h"
#include "bat_profile.h"
#include "next/carry.h"
#include "tools/common/tool.h"

/* The other build, and its profile. */
struct next_build {
    struct bat_binary binary;
    struct bat_elf *symbols; /* NULL: the binary's own */
    struct bat_profile *profile;
    struct bat_records *records;
    struct next_report report;
};

/* What is carried. */
struct next_origin {
    const struct bat_records *records;
    const struct bat_elf *elf;     /* that they are of */
    const struct bat_elf *symbols; /* an unstripped copy of it, or NULL */
    const char *explain;           /* --explain; or NULL */
    FILE *report;                  /* where explanations go */
};

/*
 * Open the build at path, and make its records. Prints errors to standard error. The caller closes
 * *next with next_build_close(), also after a failure.
 */
enum tool_exit next_build_make(const char *path, const struct next_origin *origin, unsigned threads,
                               bool will_be_judged, struct next_build *next);
void next_build_close(struct next_build *next);

/* Print what became of the profile; judgement is NULL if llvm-bolt's rules were not applied. */
void next_build_print(FILE *file, const struct next_build *next,
                      const struct bat_judgement *judgement, bool as_json);

#endif
