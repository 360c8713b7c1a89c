/**
 * A Markdown table without its empty columns. Cells are one line each; pipes in them are escaped. Columns are not aligned,
 * so that one changed row is one changed line.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const isUsed = (_cell: string, at: number): boolean => rows.some((row) => row[at] !== "");
  const head = titles.filter(isUsed);
  const write = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [head, head.map(() => "---"), ...rows.map((row) => row.filter(isUsed).map(cell))].map(write).join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** A page from its title and its parts, with an empty line between them. */
export function page(title: string, parts: readonly string[]): string {
  return `# ${title}\n\n${NOTE}\n\n${parts.join("\n\n")}\n`;
}

/** A description as a sentence: capital letter first, full stop last. */
export function sentence(text: string): string {
  const trimmed = text.replaceAll(/\s+/g, " ").trim();
  if (trimmed === "") return "";
  const start = /^[a-z]+(?:[ ,.:;]|$)/.test(trimmed) ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

const NOTE = "<!-- Generated from the code by `npm run docs`. Do not edit. -->";

function cell(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|");
}
