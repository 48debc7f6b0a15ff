#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Releases the jobs of a work folder that Slurm holds, because a node could not start them.
#
#   release.sh WORK
#
# First mend the nodes that sinfo -R lists, and let an administrator resume them (scontrol update NodeName=... State=RESUME).
# Prints the jobs.
set -u
. "$(dirname "$0")/../steps/common.sh"
[ $# -eq 1 ] || usage "WORK"
work=$(cd "$1" && pwd) || exit 1
result=0
# The output file tells whose jobs they are.
for job in $(squeue -h -r -t PENDING -o '%i %r' | sed -n 's/^\([0-9_]*\) .*[Hh]eld.*/\1/p'); do
    scontrol -o show job "$job" | grep -qF " StdOut=$work/log/" || continue
    if scontrol release "$job"; then
        echo "released $job"
    else
        result=1
    fi
done
exit $result
