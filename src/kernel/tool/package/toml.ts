import { parse, TomlError } from "smol-toml";
import { readFileAt } from "./file.ts";
import { PackageError, quoted } from "./step.ts";

/** The content of a TOML file of a package; `undefined` if it does not exist. Rejects with a `PackageError`. */
export async function readToml(file: string, name: string, maxBytes: number): Promise<unknown> {
  const bytes = await readFileAt(file, name, maxBytes);
  return bytes === undefined ? undefined : parseToml(bytes, name);
}

/** Parses a TOML file of a package. Throws a `PackageError` that names the line. */
export function parseToml(bytes: Buffer, name: string): unknown {
  try {
    return parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ""] = error.message.split("\n");
    throw new PackageError(
      `${name}, line ${error.line}, is not TOML: ${quoted(what.replace(/^Invalid TOML document: /, ""))}`,
    );
  }
}
