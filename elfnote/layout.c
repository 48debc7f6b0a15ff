/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "layout.h"

/*
 * Alignments that writers of ELF files choose for section header tables; BOLT 19 and 22 use the
 * first, BOLT 16 the last. If several explain a table's offset, the first counts, so that a note
 * can be put back as BOLT had it. A note and section names need no alignment.
 */
static const uint64_t table_alignments[] = {16, 8, 32, 64};
#define TABLE_ALIGNMENTS (sizeof(table_alignments) / sizeof(table_alignments[0]))
#define TABLE_ALIGNMENT_MAX 64u

static bool is_empty(const struct layout_extent *extent)
{
    return extent->start >= extent->end;
}

bool layout_overlap(const struct layout_extent *a, const struct layout_extent *b)
{
    return !is_empty(a) && !is_empty(b) && a->start < b->end && b->start < a->end;
}

static uint64_t align_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* Set is_free for the pieces whose old bytes nothing else uses. */
static void find_free(struct layout *layout, const struct layout_extent *others, size_t count)
{
    for (size_t p = 0; p < LAYOUT_PARTS; p++) {
        struct layout_piece *piece = &layout->pieces[p];
        piece->is_free = !is_empty(&piece->old);
        for (size_t i = 0; i < count && piece->is_free; i++)
            piece->is_free = !layout_overlap(&piece->old, &others[i]);
        for (size_t q = 0; q < LAYOUT_PARTS; q++) {
            if (p != q && layout_overlap(&piece->old, &layout->pieces[q].old))
                piece->is_free = false;
        }
    }
}

/* The greatest end, up to limit, of a piece or of one of the others. */
static uint64_t last_end(const struct layout *layout, const struct layout_extent *others,
                         size_t count, uint64_t limit)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        if (others[i].end <= limit && others[i].end > last)
            last = others[i].end;
    }
    for (size_t p = 0; p < LAYOUT_PARTS; p++) {
        const struct layout_piece *piece = &layout->pieces[p];
        if (piece->old.end <= limit && piece->old.end > last)
            last = piece->old.end;
    }
    return last;
}

/*
 * The alignment that explains why the section header table is at offset and not right after what
 * precedes it. 1 if none does: then the bytes between are not known to be padding.
 */
static uint64_t table_alignment(uint64_t end, uint64_t offset, const uint8_t *bytes)
{
    for (uint64_t i = end; i < offset; i++) {
        if (i - end >= TABLE_ALIGNMENT_MAX || bytes[i] != 0)
            return 1;
    }
    for (size_t i = 0; i < TABLE_ALIGNMENTS; i++) {
        if (align_up(end, table_alignments[i]) == offset)
            return table_alignments[i];
    }
    return 1;
}

/* A piece at the end of the kept bytes that may be taken off, or NULL. */
static struct layout_piece *piece_at_end(struct layout *layout)
{
    for (size_t p = 0; p < LAYOUT_PARTS; p++) {
        struct layout_piece *piece = &layout->pieces[p];
        if (piece->is_free && !piece->is_taken && piece->old.end == layout->kept)
            return piece;
    }
    return NULL;
}

/*
 * Take pieces off the end, together with the padding before the section header table. Returns the
 * alignment of the table that was taken off, or the usual one.
 */
static uint64_t take_off(struct layout *layout, const struct layout_extent *others, size_t count,
                         const uint8_t *bytes)
{
    uint64_t alignment = 1;
    struct layout_piece *piece = NULL;
    while ((piece = piece_at_end(layout))) {
        piece->is_taken = true;
        layout->kept = piece->old.start;
        if (piece != &layout->pieces[LAYOUT_TABLE])
            continue;
        uint64_t end = last_end(layout, others, count, layout->kept);
        alignment = table_alignment(end, layout->kept, bytes);
        if (alignment > 1)
            layout->kept = end;
    }
    return alignment > 1 ? alignment : table_alignments[0];
}

/* True if a piece that was not taken off can stay where it is. */
static bool stays(const struct layout_piece *piece)
{
    if (is_empty(&piece->old))
        return false;
    return piece->is_same || (piece->is_free && piece->size <= piece->old.end - piece->old.start);
}

void layout_plan(struct layout *layout, const struct layout_extent *others, size_t count,
                 const uint8_t *bytes, uint64_t size)
{
    layout->kept = size;
    find_free(layout, others, count);
    uint64_t alignment = take_off(layout, others, count, bytes);

    layout->size = layout->kept;
    for (size_t p = 0; p < LAYOUT_PARTS; p++) {
        struct layout_piece *piece = &layout->pieces[p];
        if (!piece->is_taken && stays(piece)) {
            piece->offset = piece->old.start;
        } else if (piece->size > 0) {
            piece->offset = align_up(layout->size, p == LAYOUT_TABLE ? alignment : 1);
            layout->size = piece->offset + piece->size;
        }
    }
}

bool layout_is_written(const struct layout_piece *piece)
{
    return piece->size > 0 && (!piece->is_same || piece->is_taken);
}

bool layout_is_dropped(const struct layout_piece *piece)
{
    return piece->is_free && !piece->is_taken && !piece->is_same;
}
