import { createRequire } from "node:module";
import path from "node:path";

/** The folder of Pyodide, an optional package; `null` if it is not installed. */
export function findPyodide(): string | null {
  try {
    return path.dirname(createRequire(import.meta.url).resolve("pyodide"));
  } catch {
    return null;
  }
}
