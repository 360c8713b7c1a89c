/** A Markdown table with aligned columns and without its empty ones. Cells are one line each; pipes in them are escaped. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const isUsed = (_cell: string, at: number): boolean => rows.some((row) => row[at] !== "");
  const head = titles.filter(isUsed);
  const lines = [head, ...rows.map((row) => row.filter(isUsed).map(cell))];
  const widths = head.map((_, at) => Math.max(3, ...lines.map((line) => (line[at] ?? "").length)));
  const write = (line: readonly string[]) =>
    `| ${widths.map((width, at) => (line[at] ?? "").padEnd(width)).join(" | ")} |`;
  const [first = "", ...rest] = lines.map(write);
  return [first, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rest].join("\n");
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
