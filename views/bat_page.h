/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The page that shows what BOLT did to a binary and where a profile's samples are, or what changed
 * between two binaries: one HTML file, which loads nothing. spec/report.md describes the data in
 * it.
 */
#ifndef BAT_PAGE_H
#define BAT_PAGE_H

#include "bat_output.h"
#include "bat_store.h"
#include "bat_verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a page is made of. Files are given by their paths, which the page names; NULL and 0 stand
 * for what there is not.
 */
struct bat_page_request {
    size_t size;            /* sizeof(struct bat_page_request) */
    const char *binary;     /* that BOLT wrote, with a note */
    const char *old_binary; /* a page about what changed between this one and binary: such pages
                               have neither original, stacks nor check */
    const char *const *profiles; /* of binary; they add up */
    size_t profile_count;
    const char *const *old_profiles; /* of old_binary */
    size_t old_profile_count;
    const char *original;             /* the binary that BOLT read */
    const char *stacks;               /* folded stacks of the profile */
    bool ignore_build_id;             /* profiles and original may be of another build */
    struct bat_stores stores;         /* searched for what the binaries lack */
    struct bat_verdict_options check; /* bat_verdict_options_new(), or limits of the caller's own */

    /* The name of a symbol as in the source, which is freed with free(); NULL if it is not mangled.
     * May be NULL. */
    char *(*demangle)(const char *name);

    /* Called for what the page lacks: a sentence, and the file that it is about or NULL. May be
     * NULL. */
    void (*warn)(const char *file, const char *sentence, void *context);
    void *context;

    const char *next; /* the next build, not BOLTed, with symbols: what the profile, carried to it,
                         is worth there; only with original and profiles */
};

/*
 * Read all, and write the page. The caller begins output, checks that it is none of the files, and
 * commits it. Fails as the functions that read the files, if a profile has no records, and as
 * bat_output_write(); *file then is the path, one of those of the request, of the file that error
 * is about, or NULL. Time n log n in symbols, entries and records.
 */
BAT_API enum bat_code bat_page_write(const struct bat_page_request *request,
                                     struct bat_output *output, const char **file,
                                     struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
