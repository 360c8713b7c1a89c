import path from "node:path";
import { isObject, memberOf } from "../../kernel/base/json.ts";
import { PackageError } from "../../kernel/tool/package/step.ts";

/** The file that describes a Python project (PEP 621), and its maximum size. */
export const PYPROJECT = "pyproject.toml";
export const PYPROJECT_BYTES_MAX = 64 * 1024;
/** The group of entry points that names Amplifier's modules. */
export const MODULES_GROUP = "amplifier.modules";

/** A project, as far as its tools need it. */
export interface Pyproject {
  /** Requirements of `project.dependencies`, unchanged. */
  readonly dependencies: readonly string[];
  /** Entry points of `amplifier.modules`: `tool-filesystem` → `amplifier_module_tool_filesystem:mount`. */
  readonly modules: ReadonlyMap<string, string>;
}

/** The project in a folder; `undefined` without the file. Rejects with a `PackageError` that names the line. */
export async function readPyproject(folder: string): Promise<Pyproject | undefined> {
  // Loaded on demand: each engine has this reader, and few read such a file.
  const { readToml } = await import("../../kernel/tool/package/toml.ts");
  const content = await readToml(path.join(folder, PYPROJECT), PYPROJECT, PYPROJECT_BYTES_MAX);
  if (content === undefined) return undefined;
  const project = memberOf(content, "project");
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
