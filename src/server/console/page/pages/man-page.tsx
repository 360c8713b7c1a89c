import type { ComponentChildren } from "preact";
import { Table } from "../elements.tsx";

const ESCAPED = /\\([\\`*_{}[\]()#+!|<>&~-])/g;
/** Separators of cells, and no escaped one within a cell. */
const CELLS = /(?<!\\)\|/;

/** A manual page as the server writes it: headings, facts, tables and paragraphs. Its text is never markup. */
export function ManPage({ text }: { text: string }) {
  const blocks = text.split(/\n{2,}/).filter((block) => block.trim() !== "");
  return <div class="stack tight">{blocks.map(blockOf)}</div>;
}

function blockOf(block: string, at: number): ComponentChildren {
  const lines = block.trim().split("\n");
  const [first = ""] = lines;
  // The view's own heading has the name.
  if (first.startsWith("# ") && at === 0) return null;
  if (first.startsWith("## ")) return <h3>{plain(first.slice(3))}</h3>;
  if (first.startsWith("- ")) {
    return (
      <ul class="plain-list">
        {lines.map((line) => (
          <li>{plain(line.replace(/^- /, ""))}</li>
        ))}
      </ul>
    );
  }
  if (first.startsWith("|")) {
    const [heads = [], , ...rows] = lines.map(cellsOf);
    return <Table label="Fields" heads={heads} items={rows} row={(cells) => cells} />;
  }
  return <p>{plain(lines.join(" "))}</p>;
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
