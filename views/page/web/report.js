// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page about one binary.
import { load } from "./data.js";
import { FunctionPage } from "./function.js";
import { LayoutMap } from "./layout.js";
import { NextPage } from "./next.js";
import { loadRefused } from "./refused.js";
import { Stacks } from "./stacks.js";
import { FunctionTable } from "./table.js";
import { start } from "./views.js";

start({map: LayoutMap, functions: FunctionTable, function: FunctionPage, next: NextPage, stacks: Stacks},
      () => Promise.all([load(), loadRefused()]));
