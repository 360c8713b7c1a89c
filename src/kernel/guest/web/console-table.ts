import { isObject } from "./arguments.ts";
import { inspect } from "./inspect.ts";

/** Maximum number of rows and columns printed. */
const ROWS_MAX = 1_000;
const COLUMNS_MAX = 100;

/** The column for rows that are not objects. */
const VALUES = Symbol("Values");

type Column = string | typeof VALUES;

/** Draws rows as `console.table` does; `undefined` if the data is not an object. */
export function drawTable(data: unknown, wanted: readonly string[] | undefined): string | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  if (data instanceof Map) {
    return drawEntries(["(iteration index)", "Key", "Values"], [...Map.prototype.entries.call(data).take(ROWS_MAX)]);
  }
  if (data instanceof Set) {
    const items = [...Set.prototype.values.call(data).take(ROWS_MAX)].map((item) => [item]);
    return drawEntries(["(iteration index)", "Values"], items);
  }
  const keys = Object.keys(data).slice(0, ROWS_MAX);
  const columns = new Set<Column>(wanted?.slice(0, COLUMNS_MAX));
  const rows = keys.map((key) => {
    const row = readOwn(data, key);
    if (!isObject(row)) columns.add(VALUES);
    else if (wanted === undefined)
      for (const name of Object.keys(row)) if (columns.size < COLUMNS_MAX) columns.add(name);
    return row;
  });
  // The values column comes last, for any place of its first row.
  const ordered: Column[] = [...columns].filter((column) => column !== VALUES);
  if (columns.has(VALUES)) ordered.push(VALUES);
  const head = ["(index)", ...ordered.map((column) => (column === VALUES ? "Values" : column))];
  return draw(
    head,
    keys.map((key, index) => [key, ...ordered.map((column) => cellText(rows[index], column))]),
  );
}

function drawEntries(head: readonly string[], entries: readonly (readonly unknown[])[]): string {
  const rows = entries.map((cells, index) => [`${index}`, ...cells.map((cell) => printCell(cell))]);
  return draw(head, rows);
}

function cellText(row: unknown, column: Column): string {
  if (column === VALUES) return isObject(row) ? "" : printCell(row);
  return isObject(row) && Object.hasOwn(row, column) ? printCell(readOwn(row, column)) : "";
}

/** Getters are not called, as in all other console output. */
function readOwn(object: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}

/** Prints small objects with their content, and large ones by their class only. */
function printCell(value: unknown): string {
  const isLarge = isObject(value) && !Array.isArray(value) && Object.keys(value).length > 2;
  const text = inspect(value, { depth: isLarge ? -1 : 0, maxArrayLength: 3, maxStringLength: 1_000, maxChars: 2_000 });
  return text.replaceAll(/\s*\n\s*/g, " ");
}

function draw(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), title.length),
  );
  const line = (cells: readonly string[]) =>
    `│ ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" │ ")} │`;
  const rule = (left: string, middle: string, right: string) =>
    `${left}${widths.map((width) => "─".repeat(width + 2)).join(middle)}${right}`;
  return [rule("┌", "┬", "┐"), line(head), rule("├", "┼", "┤"), ...rows.map(line), rule("└", "┴", "┘")].join("\n");
}
