/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adds the tables of a note described as JSON to a builder: json_note.h. */
#ifndef BAT_TOOLS_BATINJECT_JSON_TABLES_H
#define BAT_TOOLS_BATINJECT_JSON_TABLES_H

#include "bat_encoder.h"
#include "json_text.h"

struct json_entry {
    uint64_t hash;
    uint32_t output;
    uint32_t input;
    uint32_t index;
    bool is_branch;
};

/* One table as it was read; an empty one is all zeros. */
struct json_table {
    struct json_place place;
    bool is_cold;
    uint64_t address;
    uint64_t hash;
    uint64_t parent; /* address */
    uint32_t num_blocks;
    struct json_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    uint32_t *secondary_entries;
    size_t secondary_count;
    size_t secondary_capacity;
};

/* Add to a table. False if there is no memory. */
bool json_table_add_entry(struct json_table *table, struct json_entry entry);
bool json_table_add_secondary(struct json_table *table, uint32_t offset);

/* Make it an empty table again; its arrays are kept for the next one. */
void json_table_reset(struct json_table *table);
void json_table_free(struct json_table *table);

/* All tables. */
struct json_tables {
    struct bat_builder *builder;
    void *by_address; /* tree of the tables that the builder has, and of those that wait */
    struct json_table *waiting; /* fragments whose parent is not known yet */
    size_t waiting_count;
    size_t waiting_capacity;
};

enum bat_code json_tables_begin(struct json_tables *tables, struct bat_error *error);

/* Add a complete table. Takes over its arrays if it must wait for its parent. */
enum bat_code json_tables_add(struct json_tables *tables, struct json_table *table,
                              struct bat_error *error);

/* Make the map of all tables. */
enum bat_code json_tables_finish(struct json_tables *tables, enum bat_hot_index hot_index,
                                 struct bat_map **map, struct bat_error *error);

void json_tables_free(struct json_tables *tables);

#endif
