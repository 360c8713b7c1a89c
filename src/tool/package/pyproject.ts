import path from "node:path";
import { parse, TomlError } from "smol-toml";
import { isObject, memberOf } from "../../base/json.ts";
import { readFileAt } from "./file.ts";
import { MODULES_GROUP, PYPROJECT, PYPROJECT_BYTES_MAX } from "./layout.ts";
import { PackageError, quoted } from "./step.ts";

/** A project, as far as its tools need it. */
export interface Pyproject {
  /** Requirements of `project.dependencies`, as they are written. */
  readonly dependencies: readonly string[];
  /** Entry points of `amplifier.modules`: `tool-filesystem` → `amplifier_module_tool_filesystem:mount`. */
  readonly modules: ReadonlyMap<string, string>;
}

/** The project in a folder; `undefined` without the file. Rejects with a `PackageError` that names the line. */
export async function readPyproject(folder: string): Promise<Pyproject | undefined> {
  const bytes = await readFileAt(path.join(folder, PYPROJECT), PYPROJECT, PYPROJECT_BYTES_MAX);
  if (bytes === undefined) return undefined;
  const project = memberOf(parseToml(bytes.toString("utf8").replace(/^\ufeff/, "")), "project");
  const dependencies = memberOf(project, "dependencies") ?? [];
  if (!Array.isArray(dependencies) || !dependencies.every((one) => typeof one === "string")) {
    throw new PackageError(`${PYPROJECT} must have a list of strings as project.dependencies`);
  }
  const modules = memberOf(memberOf(project, "entry-points"), MODULES_GROUP) ?? {};
  if (!isObject(modules) || !Object.values(modules).every((one) => typeof one === "string")) {
    throw new PackageError(
      `${PYPROJECT} must name modules as [project.entry-points."${MODULES_GROUP}"] name = "package:mount"`,
    );
  }
  return { dependencies, modules: new Map(Object.entries(modules) as [string, string][]) };
}

function parseToml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ""] = error.message.split("\n");
    throw new PackageError(
      `${PYPROJECT}, line ${error.line}, is not TOML: ${quoted(what.replace(/^Invalid TOML document: /, ""))}`,
    );
  }
}
