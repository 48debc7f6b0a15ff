// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers and names for people.

const decimal = new Intl.NumberFormat("en-US");

export function numberText(value) {
  return decimal.format(value);
}

export function shareText(part, whole) {
  return whole ? (100 * part / whole).toFixed(2) + "%" : "";
}

// A number of bytes in at most four digits.
export function bytesText(value) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return (unit && value < 100 ? value.toFixed(1) : Math.round(value)) + " " + units[unit];
}

// A text for a canvas, cut with a sign of that if it is wider than room; "" if nothing of it fits.
export function fitText(context, text, room) {
  if (text.length < 300 && context.measureText(text).width <= room)
    return text;
  let low = 0, high = Math.min(text.length, 300);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= room)
      low = middle;
    else
      high = middle - 1;
  }
  // Not between the halves of one character.
  const cut = text.slice(0, low).replace(/[\ud800-\udbff]$/, "");
  return cut && cut + "…";
}

export function hexText(value) {
  return "0x" + value.toString(16);
}

// Control characters as "\x1b", and characters without a form of their own, or that turn the direction
// of text, as "\u202e".
const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function visible(text) {
  return text.replace(hidden, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? "\\x" + code.toString(16).padStart(2, "0")
                      : "\\u" + code.toString(16).padStart(4, "0");
  });
}
