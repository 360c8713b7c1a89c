import { readFileSync } from "node:fs";

/** Form of a name that errors may quote. Any other text may be a secret that was entered in the place of a name. */
const VARIABLE = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){1,20}$/;
const NAME_MAX = 100;

/** The text of an environment variable. `where`: the setting that names it. Throws a `TypeError` if it is not set. */
export function textOfVariable(where: string, name: string, environment: NodeJS.ProcessEnv): string {
  const text = environment[name]?.trim() ?? "";
  if (text !== "") return text;
  throw notSet(where, name);
}

/** The error of a variable that is not set. */
export function notSet(where: string, name: string): TypeError {
  const shown = name.length <= NAME_MAX && VARIABLE.test(name) ? `: ${name}` : "";
  return new TypeError(`${where} names a variable that is not set${shown}`);
}

/** The text of a file. `where`: the setting that names it. Throws a `TypeError` if it cannot be read. */
export function textOfFile(where: string, path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    // No `cause`: the original error names a path of the host, and causes are logged.
    const { code } = error as NodeJS.ErrnoException;
    throw new TypeError(`${where} cannot be read: ${code ?? "it is no file"}`);
  }
}
