/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions/eh_frame: FDEs of every encoding, and bytes that are not FDEs. */
#include "binary/functions/eh_frame.h"
#include "unit_test.h"

#define ADDRESS 0x10000u /* where the section would be loaded */

static void begin(struct bat_fde_walk *walk, const uint8_t *bytes, size_t size)
{
    bat_fde_begin_bytes(walk, bytes, size, ADDRESS);
}

static void assert_next(struct bat_fde_walk *walk, uint64_t address, uint64_t size, uint64_t lsda)
{
    struct bat_fde fde;
    bool found;
    struct bat_error error = {0};
    if (bat_fde_next(walk, &fde, &found, &error))
        fail_msg("%s", error.message);
    assert_true(found);
    assert_int_equal(fde.address, address);
    assert_int_equal(fde.size, size);
    assert_int_equal(fde.lsda, lsda);
}

static void assert_end(struct bat_fde_walk *walk)
{
    struct bat_fde fde;
    bool found = true;
    assert_ok(bat_fde_next(walk, &fde, &found, NULL));
    assert_false(found);
}

static void assert_fails(const uint8_t *bytes, size_t size, const char *message)
{
    struct bat_fde_walk walk;
    struct bat_fde fde;
    bool found = true;
    struct bat_error error = {0};
    begin(&walk, bytes, size);
    enum bat_code code;
    do
        code = bat_fde_next(&walk, &fde, &found, &error);
    while (code == BAT_OK && found);
    assert_int_equal(code, BAT_ERR_ELF);
    assert_false(found);
    assert_string_equal(error.message, message);
}

/* As GCC writes for C++: a personality, LSDAs, all addresses relative to their own place. */
/* clang-format off */
static const uint8_t cxx[] = {
    /* 0x00: a CIE */
    0x1c, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16,
    7, 0x9b, 0x11, 0x22, 0x33, 0x44, 0x1b, 0x1b, /* augmentation data: P, L, R */
    0x0c, 7, 8, 0x90, 1, 0, 0,
    /* 0x20: an FDE for code at 0x28 - 0x1000 with an LSDA at 0x31 + 0x100 */
    0x14, 0, 0, 0, 0x24, 0, 0, 0, 0x00, 0xf0, 0xff, 0xff, 0x34, 0x12, 0, 0,
    4, 0x00, 0x01, 0, 0, 0, 0, 0,
    /* 0x38: one without LSDA */
    0x14, 0, 0, 0, 0x3c, 0, 0, 0, 0x00, 0x10, 0, 0, 0x05, 0, 0, 0,
    4, 0, 0, 0, 0, 0, 0, 0,
};
/* clang-format on */

TEST(test_relative_addresses_and_lsdas)
{
    struct bat_fde_walk walk;
    begin(&walk, cxx, sizeof(cxx));
    assert_next(&walk, ADDRESS + 0x28 - 0x1000, 0x1234, ADDRESS + 0x31 + 0x100);
    assert_next(&walk, ADDRESS + 0x40 + 0x1000, 5, 0);
    assert_end(&walk);
    assert_end(&walk);
}

/* A CIE and one FDE of it, built by a test. */
struct frame {
    uint8_t bytes[256];
    size_t size;
    size_t fde;
};

static void add(struct frame *frame, const void *bytes, size_t size)
{
    assert_true(frame->size + size <= sizeof(frame->bytes));
    memcpy(frame->bytes + frame->size, bytes, size);
    frame->size += size;
}

static void set_length(struct frame *frame, size_t entry)
{
    uint32_t length = (uint32_t)(frame->size - entry - 4);
    memcpy(frame->bytes + entry, &length, sizeof(length));
}

static void add_cie(struct frame *frame, uint8_t version, const char *augmentation,
                    const void *data, size_t size)
{
    size_t entry = frame->size;
    add(frame, "\0\0\0\0\0\0\0\0", 8);
    add(frame, &version, 1);
    add(frame, augmentation, strlen(augmentation) + 1);
    if (version == 4)
        add(frame, "\x08\x00", 2);
    add(frame, "\x81\x00\x78\x10", 4); /* a padded LEB128 is allowed here */
    if (*augmentation == 'z') {
        uint8_t count = (uint8_t)size;
        add(frame, &count, 1);
    }
    if (size)
        add(frame, data, size);
    set_length(frame, entry);
}

static void add_fde(struct frame *frame, const void *body, size_t size)
{
    frame->fde = frame->size;
    uint32_t distance = (uint32_t)frame->size + 4;
    add(frame, "\0\0\0\0", 4);
    add(frame, &distance, 4);
    add(frame, body, size);
    set_length(frame, frame->fde);
}

TEST(test_encodings)
{
    static const struct {
        uint8_t encoding;
        const char *body; /* address, size, augmentation size */
        size_t body_size;
        uint64_t address; /* less that of the field if relative */
        uint64_t size;
    } cases[] = {
        {0x00, "\1\2\3\4\5\6\7\x80\x10\0\0\0\0\0\0\0\0", 17, 0x8007060504030201, 0x10},
        {0x01, "\xe5\x8e\x26\x7f\0", 5, 624485, 127},
        {0x02, "\xff\xff\x01\x80\0", 5, 0xffff, 0x8001},
        {0x03, "\xff\xff\xff\xff\x02\0\0\0\0", 9, 0xffffffff, 2},
        {0x04, "\1\0\0\0\0\0\0\x80\x02\0\0\0\0\0\0\0\0", 17, 0x8000000000000001, 2},
        {0x09, "\x7f\x10\0", 3, UINT64_MAX, 16},
        {0x0a, "\xfe\xff\x04\0\0", 5, UINT64_MAX - 1, 4},
        {0x0b, "\xfd\xff\xff\xff\x04\0\0\0\0", 9, UINT64_MAX - 2, 4},
        {0x0c, "\xfc\xff\xff\xff\xff\xff\xff\xff\x04\0\0\0\0\0\0\0\0", 17, UINT64_MAX - 3, 4},
        {0x1a, "\xfe\xff\x04\0\0", 5, UINT64_MAX - 1, 4},
        {0x10, "\1\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0", 17, 1, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct frame frame = {.size = 0};
        add_cie(&frame, 1, "zR", &cases[i].encoding, 1);
        add_fde(&frame, cases[i].body, cases[i].body_size);
        struct bat_fde_walk walk;
        begin(&walk, frame.bytes, frame.size);
        uint64_t place = cases[i].encoding & 0x10 ? ADDRESS + frame.fde + 8 : 0;
        assert_next(&walk, cases[i].address + place, cases[i].size, 0);
        assert_end(&walk);
    }
}

TEST(test_versions_and_augmentations)
{
    static const char body[] = "\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0";
    struct frame frame = {.size = 0};
    add_cie(&frame, 1, "", NULL, 0);
    add_fde(&frame, body, 16); /* no augmentation data at all */
    struct bat_fde_walk walk;
    begin(&walk, frame.bytes, frame.size);
    assert_next(&walk, 0x10, 0x20, 0);
    for (uint8_t version = 3; version <= 4; version++) {
        frame.size = 0;
        add_cie(&frame, version, "zRSBG", "\0", 1);
        add_fde(&frame, body, 17);
        begin(&walk, frame.bytes, frame.size);
        assert_next(&walk, 0x10, 0x20, 0);
    }
    frame.size = 0;
    add_cie(&frame, 1, "zPL", "\xff\xff", 2); /* personality and LSDA omitted */
    add_fde(&frame, body, 17);
    begin(&walk, frame.bytes, frame.size);
    assert_next(&walk, 0x10, 0x20, 0);
}

/* FDEs that refer to two common entries in turn. */
TEST(test_several_common_entries)
{
    struct frame frame = {.size = 0};
    add_cie(&frame, 1, "zR", "\x02", 1);
    uint32_t second = (uint32_t)frame.size;
    add_cie(&frame, 1, "zR", "\x03", 1);
    for (int i = 0; i < 4; i++) {
        bool is_first = i % 2 == 0;
        add_fde(&frame, is_first ? "\x01\0\x02\0\0" : "\x03\0\0\0\x04\0\0\0\0", is_first ? 5 : 9);
        if (!is_first)
            frame.bytes[frame.fde + 4] = (uint8_t)(frame.bytes[frame.fde + 4] - second);
    }
    struct bat_fde_walk walk;
    begin(&walk, frame.bytes, frame.size);
    for (int i = 0; i < 2; i++) {
        assert_next(&walk, 1, 2, 0);
        assert_next(&walk, 3, 4, 0);
    }
    assert_end(&walk);
}

TEST(test_long_entries_and_the_terminator)
{
    struct frame frame = {.size = 0};
    add_cie(&frame, 1, "zR", "\x0b", 1);
    size_t entry = frame.size;
    add(&frame, "\xff\xff\xff\xff\x0d\0\0\0\0\0\0\0", 12); /* a 64-bit length */
    uint32_t distance = (uint32_t)frame.size;
    add(&frame, &distance, 4);
    add(&frame, "\x01\0\0\0\x02\0\0\0\0", 9);
    add(&frame, "\0\0\0\0", 4); /* the end, whatever follows */
    add(&frame, "\xff\xff\xff\x00", 4);
    struct bat_fde_walk walk;
    begin(&walk, frame.bytes, frame.size);
    assert_next(&walk, 1, 2, 0);
    assert_end(&walk);
    assert_end(&walk);

    begin(&walk, frame.bytes, entry); /* a CIE alone */
    assert_end(&walk);
    begin(&walk, NULL, 0);
    assert_end(&walk);
}

/* A frame with a CIE of version 1 and an FDE. */
static struct frame frame_of(const char *augmentation, const void *data, size_t data_size,
                             const void *body, size_t body_size)
{
    struct frame frame = {.size = 0};
    add_cie(&frame, 1, augmentation, data, data_size);
    add_fde(&frame, body, body_size);
    return frame;
}

TEST(test_errors_say_where)
{
    static const char body[] = "\x01\0\0\0\x02\0\0\0\0";
    /* FDEs follow a CIE of 0x12 bytes, or of 0x14 with an LSDA's encoding. */
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cut[] = {
        {"\x10\0", 2, ".eh_frame+0x0: the section ends inside an entry's length"},
        {"\xff\xff\xff\xff\1", 5,
         ".eh_frame+0x0: the section ends inside an entry's 64-bit length"},
        {"\x09\0\0\0\0\0\0\0", 8, ".eh_frame+0x0: an entry reaches beyond the section's end"},
        {"\x03\0\0\0\0\0\0\0", 8, ".eh_frame+0x0: an entry is too short for its identifier"},
    };
    for (size_t i = 0; i < COUNT(cut); i++)
        assert_fails((const uint8_t *)cut[i].bytes, cut[i].size, cut[i].message);
    static const struct {
        const char *augmentation;
        const char *data;
        size_t data_size;
        size_t body_size;
        const char *message;
    } frames[] = {
        {"zX", "\0", 1, 9, ".eh_frame+0x0: a common entry (CIE) has an unknown form"},
        {"zRSSSSSSSSSSSSSSSSSS", "\x0b", 1, 9,
         ".eh_frame+0x0: a common entry (CIE) has an unknown form"},
        /* Aligned: known, but not used. */
        {"zR", "\x5b", 1, 9, ".eh_frame+0x12: the code range of an entry cannot be read"},
        {"zR", "\x0b", 1, 7, ".eh_frame+0x12: the code range of an entry cannot be read"},
        {"zR", "\x0b", 1, 8, ".eh_frame+0x12: the augmentation size cannot be read"},
        {"zLR", "\x0b\x0b", 2, 9, ".eh_frame+0x14: the exception table's address is damaged"},
    };
    for (size_t i = 0; i < COUNT(frames); i++) {
        struct frame frame = frame_of(frames[i].augmentation, frames[i].data, frames[i].data_size,
                                      body, frames[i].body_size);
        assert_fails(frame.bytes, frame.size, frames[i].message);
    }
    struct frame frame = frame_of("zR", "\x0b", 1, body, 9);
    frame.bytes[frame.fde + 4]++; /* one byte too far back */
    assert_fails(frame.bytes, frame.size,
                 ".eh_frame+0x12: the common entry lies before the section");
    frame.bytes[frame.fde + 4] = 4; /* the FDE itself */
    assert_fails(frame.bytes, frame.size,
                 ".eh_frame+0x12: expected a common entry (CIE), found another entry");
}

/* Every prefix, and every value of every byte, from memory of exactly that size. */
TEST(test_any_bytes_are_safe)
{
    size_t whole = sizeof(cxx);
    for (size_t size = 0; size <= whole; size++) {
        uint8_t *copy = malloc(size + 1);
        assert_non_null(copy);
        uint8_t *exact = realloc(copy, size ? size : 1);
        assert_non_null(exact);
        memcpy(exact, cxx, size);
        for (size_t changed = 0; changed < size; changed++) {
            for (unsigned value = 0; value < 256; value += size == whole ? 1 : 85) {
                exact[changed] = (uint8_t)value;
                struct bat_fde_walk walk;
                struct bat_fde fde;
                bool found = true;
                unsigned count = 0;
                begin(&walk, exact, size);
                while (bat_fde_next(&walk, &fde, &found, NULL) == BAT_OK && found)
                    assert_true(++count <= size / 8);
            }
            exact[changed] = cxx[changed];
        }
        free(exact);
    }
}
