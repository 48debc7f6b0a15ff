/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A stream on its way into a temporary file, which can be read where it has arrived while a thread
 * copies the rest. Internal to the library.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "bat.h"

struct bat_arriving {
    int file; /* what has arrived, from its beginning */
    int stream;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint64_t awaited; /* the reader waits for so many bytes */
    uint64_t size;    /* bytes in file; with is_done, of the whole stream */
    bool is_done;
    enum bat_code code;
    struct bat_error error;
};

/*
 * Begin with the bytes that were already read from the stream. At most that many threads work, this
 * one among them, or one for each processor if threads is 0; if this is the only one, the stream is
 * copied before this returns. If it fails, nothing is to be closed.
 */
enum bat_code bat_arriving_begin(struct bat_arriving *arriving, int stream, const void *bytes,
                                 size_t size, unsigned threads, struct bat_error *error);

/* Wait until so many bytes are there, or the stream has ended. Returns how many are there. */
uint64_t bat_arriving_wait(struct bat_arriving *arriving, uint64_t size);

/* Wait for the end of the stream. Fails if it could not be read, or not be written to the file. */
enum bat_code bat_arriving_finish(struct bat_arriving *arriving, struct bat_error *error);

/* Wait for the end of the stream, and close the file. */
void bat_arriving_close(struct bat_arriving *arriving);
