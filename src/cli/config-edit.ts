import { readFile, writeFile } from "node:fs/promises";
import { readYamlText, type YamlText } from "../kernel/base/yaml-text.ts";
import type { ConfigFinding, ConfigFix } from "../server/config/config-error.ts";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Repairs the repairable mistakes in a configuration file, and returns their number. The rest stays unchanged. */
export async function fixFile(file: string, findings: readonly ConfigFinding[]): Promise<number> {
  const text = await readFile(file, "utf8");
  const read = readYamlText(text, true);
  const edits = findings
    .flatMap(({ fix }) => (fix === undefined ? [] : (editFor(fix, read, text) ?? [])))
    .toSorted((one, other) => other.start - one.start);
  const repaired = edits.reduce(
    (whole, { start, end, text: to }) => whole.slice(0, start) + to + whole.slice(end),
    text,
  );
  if (edits.length > 0) await writeFile(file, repaired);
  return edits.length;
}

function editFor(fix: ConfigFix, { rangeOf }: YamlText, text: string): Edit | null {
  const range = rangeOf(fix.path, fix.kind === "rename" ? "key" : "value");
  if (range === undefined) return null;
  const [start, end] = range;
  const isQuoted = text[start] === '"';
  const to = fix.kind === "rename" ? fix.to : fix.value;
  return { start, end, text: isQuoted && typeof to === "string" ? JSON.stringify(to) : String(to) };
}
