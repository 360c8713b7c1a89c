import { more } from "./inspect-text.ts";

/** Approximate maximum length of a line, in characters. */
export const LINE_WIDTH = 80;
/** Maximum number of object levels on one line. */
const COMPACT_LEVELS = 3;

/** A value's printed entries, before they are laid out. */
export interface Parts {
  /** Text before the opening bracket. */
  readonly base: string;
  readonly open: string;
  readonly close: string;
  readonly entries: readonly string[];
}

/** Position of the value. */
export interface Place {
  readonly indentation: number;
  /** Number of object levels that the value contains. */
  readonly levels: number;
  /** For lists, whose items may share lines: whether all of them are numbers, and the number of omitted ones. */
  readonly list?: { readonly numeric: boolean; readonly left: number };
}

/** Puts a value's entries on one line if they fit, else on several. */
export function layOut(parts: Parts, place: Place): string {
  const { base, open, close } = parts;
  const prefix = base === "" ? "" : `${base} `;
  const { list } = place;
  const entries =
    list !== undefined && parts.entries.length > 6 ? groupItems(parts.entries, place.indentation, list) : parts.entries;
  if (place.levels < COMPACT_LEVELS && entries.length === parts.entries.length) {
    const start = entries.length + place.indentation + open.length + base.length + 10;
    if (fits(entries, start, base)) {
      const joined = entries.join(", ");
      if (!joined.includes("\n")) return `${prefix}${open} ${joined} ${close}`;
    }
  }
  const newLine = `\n${" ".repeat(place.indentation)}`;
  return `${prefix}${open}${newLine}  ${entries.join(`,${newLine}  `)}${newLine}${close}`;
}

function fits(entries: readonly string[], start: number, base: string): boolean {
  let length = entries.length + start;
  if (length + entries.length > LINE_WIDTH) return false;
  for (const entry of entries) {
    length += entry.length;
    if (length > LINE_WIDTH) return false;
  }
  return !base.includes("\n");
}

/** Arranges the items of a long list in columns if they are short enough. */
function groupItems(
  items: readonly string[],
  indentation: number,
  { numeric, left }: { readonly numeric: boolean; readonly left: number },
): readonly string[] {
  const gap = 2;
  // The count of omitted items has a line of its own.
  const count = left > 0 ? items.length - 1 : items.length;
  const lengths = items.slice(0, count).map((item) => item.length);
  const total = lengths.reduce((sum, length) => sum + length + gap, 0);
  const longest = Math.max(...lengths);
  const width = longest + gap;
  if (width * 3 + indentation >= LINE_WIDTH || (total / width <= 5 && longest > 6)) return items;
  // Characters are about two and a half times as high as they are wide: the columns form roughly a square.
  const bias = Math.sqrt(width - total / items.length);
  const biasedWidth = Math.max(width - 3 - bias, 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * biasedWidth * count) / biasedWidth),
    Math.floor((LINE_WIDTH - indentation) / width),
    COMPACT_LEVELS * 4,
    15,
  );
  if (columns <= 1) return items;
  const widths = Array.from({ length: columns }, (_, column) => {
    const inColumn = lengths.filter((_length, index) => index % columns === column);
    return Math.max(0, ...inColumn) + gap;
  });
  const lines: string[] = [];
  for (let start = 0; start < count; start += columns) {
    const line = items.slice(start, Math.min(start + columns, count));
    const last = line.length - 1;
    const padded = line.map((item, column) => {
      const columnWidth = widths[column] ?? 0;
      const cell = column === last ? item : `${item}, `;
      if (numeric) return cell.padStart(column === last ? columnWidth - gap : columnWidth);
      return column === last ? cell : cell.padEnd(columnWidth);
    });
    lines.push(padded.join(""));
  }
  if (left > 0) lines.push(items[count] ?? more(left, "item"));
  return lines;
}
