import { readFileSync } from "node:fs";

/** The text of an environment variable. `where`: the setting that names it. Throws a `TypeError` where it is not set. */
export function textOfVariable(where: string, name: string, environment: NodeJS.ProcessEnv): string {
  const text = environment[name]?.trim() ?? "";
  if (text !== "") return text;
  throw new TypeError(`${where} names a variable that is not set`);
}

/** The text of a file. `where`: the setting that names it. Throws a `TypeError` where it cannot be read. */
export function textOfFile(where: string, path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    // No `cause`: the original error names a path of the host, and causes are logged.
    const { code } = error as NodeJS.ErrnoException;
    throw new TypeError(`${where} cannot be read: ${code ?? "it is no file"}`);
  }
}
