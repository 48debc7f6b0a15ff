/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Places the pieces of an ELF file that change when a note is written. Internal to elfnote/.
 *
 * Three pieces may move: the section names, the note and the section header table. All other
 * bytes stay where they are, also those that no header describes. Pieces at the file's end are
 * taken off and laid out again after the bytes that stay, so that the file does not grow with every
 * change. A piece elsewhere keeps its place if it fits, otherwise it goes to the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes [start, end) of the file. */
struct layout_extent {
    uint64_t start;
    uint64_t end;
};

/* True if they share a byte. */
bool layout_overlap(const struct layout_extent *a, const struct layout_extent *b);

/* In the order in which they are laid out at the end. */
enum layout_part { LAYOUT_NAMES, LAYOUT_NOTE, LAYOUT_TABLE, LAYOUT_PARTS };

struct layout_piece {
    struct layout_extent old; /* its place in the old file; empty if it has none */
    uint64_t size;            /* of the new content; 0 for none */
    bool is_same;             /* the new content is the old one */

    /* The plan: */
    bool is_free;    /* nothing else uses its old bytes: they may be overwritten or dropped */
    bool is_taken;   /* taken off the file's end */
    uint64_t offset; /* of the new content */
};

struct layout {
    struct layout_piece pieces[LAYOUT_PARTS];
    uint64_t kept; /* the old file's bytes before this stay, except dropped pieces */
    uint64_t size; /* of the new file */
};

/*
 * Make the plan. others are the extents of everything else that the file's headers describe, all
 * inside the file; bytes is the old file, which has size bytes.
 */
void layout_plan(struct layout *layout, const struct layout_extent *others, size_t count,
                 const uint8_t *bytes, uint64_t size);

/* True if the new content has to be written; otherwise it is already in its place. */
bool layout_is_written(const struct layout_piece *piece);

/* True if the piece's old bytes are before layout->kept and must not be copied. */
bool layout_is_dropped(const struct layout_piece *piece);
