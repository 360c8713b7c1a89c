import { lstat } from "node:fs/promises";
import path from "node:path";
import { MODULES_GROUP, PYPROJECT, readPyproject } from "./pyproject.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { counts, readRequirement, type Requirement } from "./requirement.ts";

/** The module of a project in a folder. */
export interface Project {
  /** The folder that is to be on Python's path. */
  readonly root: string;
  /** The module's file below `root`: `tool.py`, or `package/__init__.py`. */
  readonly entry: string;
  readonly requirements: readonly Requirement[];
}

const DEPENDENCIES_MAX = 200;
/** Folders in which projects keep their packages. */
const ROOTS = ["", "src"] as const;
const TARGET = /^([a-z_]\w*(?:\.[a-z_]\w*)*)\s*(?::\s*(\w+))?$/i;

/** The module that a project's entry points name. Rejects with a `PackageError`. */
export async function readProject(folder: string): Promise<Project> {
  const project = await readPyproject(folder);
  if (project === undefined) throw new PackageError(`it has no file ${PYPROJECT}`);
  const { dependencies, modules } = project;
  const targets = new Set(modules.values());
  const [target, another] = targets;
  const section = `[project.entry-points."${MODULES_GROUP}"]`;
  if (target === undefined) throw new PackageError(`${PYPROJECT} names no module in ${section}`);
  if (another !== undefined) {
    throw new PackageError(`${PYPROJECT} names ${targets.size} modules in ${section}; register the file of each`);
  }
  if (dependencies.length > DEPENDENCIES_MAX) {
    throw new PackageError(`${PYPROJECT} asks for more than ${DEPENDENCIES_MAX} packages`);
  }
  const requirements = dependencies.map((text, at) => readRequirement(text, `${PYPROJECT}, dependency ${at + 1},`));
  return { ...(await moduleAt(folder, target)), requirements: requirements.filter((one) => counts(one, [])) };
}

/** Place of the module of an entry point, `package.module:mount`. Rejects with a `PackageError`. */
async function moduleAt(folder: string, target: string): Promise<Pick<Project, "root" | "entry">> {
  const [, name, mount = "mount"] = TARGET.exec(target) ?? [];
  if (name === undefined || mount !== "mount") {
    throw new PackageError(`${PYPROJECT} names ${quoted(target)}, which is not the form "package.module:mount"`);
  }
  const inside = name.replaceAll(".", "/");
  for (const root of ROOTS.map((one) => path.join(folder, one))) {
    for (const entry of [`${inside}/__init__.py`, `${inside}.py`]) {
      if ((await lstat(path.join(root, entry)).catch(() => undefined))?.isFile() === true) return { root, entry };
    }
  }
  throw new PackageError(
    `${PYPROJECT} names the module ${quoted(name)}, and there is neither ${inside}/__init__.py nor ${inside}.py`,
  );
}
