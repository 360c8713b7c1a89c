import { createRequire } from "node:module";
import path from "node:path";

/** Where Pyodide is installed: it is optional. `null` where it is not. */
export function findPyodide(): string | null {
  try {
    return path.dirname(createRequire(import.meta.url).resolve("pyodide"));
  } catch {
    return null;
  }
}
