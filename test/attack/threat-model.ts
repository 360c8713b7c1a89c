import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const THREAT_MODEL = fileURLToPath(new URL("threat-model.md", import.meta.url));

/** An attack, what holds against it, and the test that proves it. */
export interface Row {
  /** The heading of its table: who attacks what. */
  readonly group: string;
  readonly vector: string;
  readonly defences: readonly string[];
  /** From the folder of the table. */
  readonly file: string;
  readonly test: string;
}

/** The rows of all tables, each under a heading; a cell that is empty says the same as the one above it. */
export function readRows(): Row[] {
  const rows: Row[] = [];
  let group = "";
  for (const line of readFileSync(THREAT_MODEL, "utf8").split("\n")) {
    if (line.startsWith("## ")) group = line.slice("## ".length);
    const cells = line.split("|").map((cell) => cell.trim());
    const [, vector = "", defence = "", file = "", name = ""] = cells;
    if (!line.startsWith("|") || /^(?:defence|-+)$/.test(defence)) continue;
    const last = rows.at(-1);
    const defences = codeSpans(defence).filter((span) => span.startsWith("src/") || span.startsWith("test/"));
    rows.push({
      group,
      vector: vector === "" ? (last?.vector ?? "") : vector,
      defences: defence === "" ? (last?.defences ?? []) : defences,
      file: file === "" ? (last?.file ?? "") : (codeSpans(file)[0] ?? ""),
      test: codeSpans(name)[0] ?? "",
    });
  }
  return rows;
}

function codeSpans(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}
