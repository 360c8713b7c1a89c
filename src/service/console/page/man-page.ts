import { h, table } from "./elements.ts";

const ESCAPED = /\\([\\`*_{}[\]()#+!|<>&~-])/g;
/** Separators of cells, and no escaped one within a cell. */
const CELLS = /(?<!\\)\|/;

/** A manual page as the server writes it: headings, facts, tables and paragraphs. Its text is never markup. */
export function manPage(text: string): HTMLElement {
  const blocks = text.split(/\n{2,}/).filter((block) => block.trim() !== "");
  return h("div", { class: "stack tight" }, ...blocks.flatMap(blockOf));
}

function blockOf(block: string, at: number): HTMLElement | [] {
  const lines = block.trim().split("\n");
  const [first = ""] = lines;
  // The view's own heading has the name.
  if (first.startsWith("# ") && at === 0) return [];
  if (first.startsWith("## ")) return h("h3", {}, plain(first.slice(3)));
  if (first.startsWith("- ")) {
    return h("ul", { class: "plain-list" }, ...lines.map((line) => h("li", {}, plain(line.replace(/^- /, "")))));
  }
  if (first.startsWith("|")) {
    const [heads = [], , ...rows] = lines.map(cellsOf);
    return table("Fields", heads, rows);
  }
  return h("p", {}, plain(lines.join(" ")));
}

function cellsOf(line: string): string[] {
  return line
    .split(CELLS)
    .slice(1, -1)
    .map((cell) => plain(cell.trim()));
}

function plain(text: string): string {
  return text.replaceAll(ESCAPED, "$1");
}
