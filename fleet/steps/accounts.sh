#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the jobs of a work folder read, wrote and used. A job that was run again counts once, as it ran last.
#
#   accounts.sh WORK
set -u
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage "WORK"
printf '%-9s %5s %6s %14s %14s %10s %10s %8s\n' step level jobs 'bytes in' 'bytes out' seconds processor 'max MB'
find "$1/accounts" -type f ! -name '*.new' -exec cat {} + | awk '
    { k = $2 " " $1; jobs[k]++; read[k] += $4; wrote[k] += $5; s[k] += $6; p[k] += $7 + $8
      if ($9 + 0 > m[k]) m[k] = $9 }
    END { for (k in jobs) { split(k, n, " ")
          printf "%-9s %5d %6d %14d %14d %10.2f %10.2f %8.1f\n", n[2], n[1], jobs[k], read[k], wrote[k],
                 s[k], p[k], m[k] / 1024 } }' | sort -k2,2n -k1,1r
