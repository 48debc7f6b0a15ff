/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handles files that become shorter while they are read. */
#pragma once

/*
 * Install a handler for SIGBUS, which reading a mapped file behind its new end raises: it prints a
 * message, removes temporary files and ends the tool with this exit status. name is the tool's and
 * must stay valid.
 */
void truncated_catch(const char *name, int status);
