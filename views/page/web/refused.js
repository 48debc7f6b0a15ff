// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What llvm-bolt will refuse of the profile.
import { Texts, columnsOf, description, unpack } from "./packed.js";

// For each function that has some: [{form, counts, reason, name}].
const refusals = new Map();

export async function loadRefused() {
  if (!description.refused)
    return;
  const n = description.refused;
  const [columns, reasonBytes, nameBytes] =
    await Promise.all([columnsOf("refused"), unpack("reasons"), unpack("refused-names")]);
  const reasons = new Texts(reasonBytes, n), others = new Texts(nameBytes, n);
  let number = 0;
  for (let i = 0; i < n; i++) {
    number += columns[0].change();
    const form = columns[1].number() ? "YAML" : "fdata", counts = columns[2].number();
    if (!refusals.has(number - 1))
      refusals.set(number - 1, []);
    refusals.get(number - 1).push({form, counts, reason: reasons.get(i), name: others.get(i)});
  }
}

// Refusals of a function; empty if llvm-bolt takes its profile, or if it has none.
export function refusalsOf(number) {
  return refusals.get(number) ?? [];
}
