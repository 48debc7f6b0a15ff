/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of the output formats: to add one, add its row, and a file with its functions. */
#include "translate_work.h"

const struct translate_format_row translate_formats[FORMATS] = {
    [FORMAT_FDATA] = {"fdata", "fdata", .open = records_open, .finish = records_finish,
                      .is_records = true},
    [FORMAT_YAML] = {"yaml", "yaml", .open = records_open, .finish = records_finish,
                     .is_records = true},
    [FORMAT_PREAGG] = {"preagg", "preagg", .open = preagg_open, .finish = preagg_finish},
    [FORMAT_AUTOFDO] = {"autofdo", "prof", .open = compilers_open, .finish = foreign_finish},
    [FORMAT_PROFGEN] = {"profgen", "profgen", .open = compilers_open, .finish = foreign_finish},
    [FORMAT_CSSPGO] = {"csspgo", "prof", .open = compilers_open, .finish = foreign_finish,
                       .has_contexts = true},
    [FORMAT_HYBRID] = {"hybrid", "perfscript", .open = compilers_open, .finish = foreign_finish,
                       .has_contexts = true},
    [FORMAT_PERFSCRIPT] = {.name = "perfscript", .extension = ""}, /* no profile is made */
    [FORMAT_FOLDED] = {"folded", "folded", .open = viewers_open, .finish = foreign_finish,
                       .viewer = BAT_VIEWER_FOLDED},
    [FORMAT_PPROF] = {"pprof", "pb.gz", .open = viewers_open, .finish = foreign_finish,
                      .viewer = BAT_VIEWER_PPROF},
    [FORMAT_SPEEDSCOPE] = {"speedscope", "speedscope.json", .open = viewers_open,
                           .finish = foreign_finish, .viewer = BAT_VIEWER_SPEEDSCOPE},
    [FORMAT_FIREFOX] = {"firefox", "firefox.json", .open = viewers_open, .finish = foreign_finish,
                        .viewer = BAT_VIEWER_FIREFOX},
    [FORMAT_OTLP] = {"otlp", "otlp", .open = viewers_open, .finish = foreign_finish,
                     .viewer = BAT_VIEWER_OTLP},
};

enum tool_exit work_open(struct work *work)
{
    return translate_formats[work->arguments->format].open(work);
}

enum tool_exit work_finish(struct work *work)
{
    BAT_TRY(work_prepare_profile(work));
    return translate_formats[work->arguments->format].finish(work);
}
