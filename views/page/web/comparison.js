// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page about two binaries.
import { BothMap } from "./both.js";
import { ChangeTable } from "./changes.js";
import { PairPage } from "./pair.js";
import { load } from "./pairs.js";
import { start } from "./views.js";

start({map: BothMap, functions: ChangeTable, function: PairPage}, load);
