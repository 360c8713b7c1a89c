import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** Files below a folder, by their paths in it. Not those of hidden folders: tests write and remove such folders meanwhile. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith(".") || entry.name === "node_modules") return [];
    if (!entry.isDirectory()) return [entry.name];
    return filesBelow(join(folder, entry.name)).map((name) => `${entry.name}/${name}`);
  });
}

/** Files of `src` with TypeScript, by their paths in it. */
export const files: readonly string[] = filesBelow(SRC).filter((name) => /\.tsx?$/.test(name));

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
