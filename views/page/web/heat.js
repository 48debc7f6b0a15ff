// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Colors: of heat, by the logarithm of a count, and of kinds of code.

const light = [[255, 243, 205], [253, 204, 120], [244, 140, 60], [214, 64, 40], [128, 10, 38]];
const dark = [[62, 38, 66], [122, 40, 92], [194, 63, 74], [240, 124, 48], [252, 226, 130]];
const darkness = matchMedia("(prefers-color-scheme: dark)");

export function onColorsChange(changed) {
  darkness.addEventListener("change", changed);
}

// From 0, nothing, to 1, the hottest.
export function heatOf(value, most) {
  return value > 0 && most > 0 ? Math.log1p(value) / Math.log1p(most) : 0;
}

function heatParts(heat) {
  const stops = darkness.matches ? dark : light;
  const at = Math.min(Math.max(heat, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2), part = at - i;
  return stops[i].map((value, j) => Math.round(value + (stops[i + 1][j] - value) * part));
}

export function heatColor(heat) {
  return `rgb(${heatParts(heat).join(",")})`;
}

// Black or white, whichever can be read better on a color of heat (WCAG 2's relative luminance).
export function inkOnHeat(heat) {
  const [red, green, blue] = heatParts(heat).map((value) =>
    value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

// Colors of the style sheet, until it changes.
const known = new Map();
darkness.addEventListener("change", () => known.clear());

export function styleColor(name) {
  if (!known.has(name))
    known.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return known.get(name);
}
