import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** Files of `src` with TypeScript, by their paths in it. */
export const files: readonly string[] = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => name.split(sep).join("/"));

/** Files of `src` that a file imports, at once or later. */
export function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const found = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+\.tsx?)"/g)].map((match) => match[1] ?? "");
  return found.map((path) =>
    relative(SRC, join(SRC, dirname(file), path))
      .split(sep)
      .join("/"),
  );
}
