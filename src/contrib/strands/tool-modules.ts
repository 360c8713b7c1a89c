import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../../kernel/base/errors.ts";
import type { ToolLocation } from "../../kernel/tool/definition.ts";

/** A folder or a module, optionally with settings that its modules do not declare. */
export type ToolPlace = string | ToolLocation;

/** A found module, and the name in its full path. */
export interface ToolModule {
  readonly location: ToolLocation;
  readonly name: string;
}

const EXTENSIONS: readonly string[] = [".js", ".mjs", ".ts", ".py"];
const PYTHON_INDEX = "__init__.py";
const INDEX_FILES: readonly string[] = ["index.ts", "index.mjs", "index.js", PYTHON_INDEX];
const MODULES_MAX = 1_000;
/** Entries in folders of tools that are skipped: private modules, the registry, tests, types. */
const NO_TOOL =
  /^[_.]|^registry(?:\.|$)|\.test\.|\.d\.ts$|^node_modules$|^test_.*\.py$|_test\.py$|^(?:conftest|setup)\.py$/;

/** Last part of a place's path, which may be shown. */
export function showPlace(place: ToolPlace): string {
  return path.basename(path.resolve(locationOf(place).path));
}

/** Modules at a place, by name. Linked entries of a folder are skipped. */
export async function findModules(place: ToolPlace): Promise<readonly ToolModule[]> {
  const location = locationOf(place);
  const module = (file: string, name = nameOf(file)): ToolModule => ({ location: { ...location, path: file }, name });
  const found = await stat(location.path).catch(() => null);
  if (found === null) throw new GloveboxError("load_error", `there is no tools folder ${showPlace(place)}`);
  if (found.isFile()) return [module(path.resolve(location.path))];
  const folder = await realpath(location.path);
  const entries = (await readdir(folder, { withFileTypes: true }))
    .filter(({ name }) => !NO_TOOL.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  if (entries.length > MODULES_MAX) {
    throw new GloveboxError(
      "load_error",
      `the tools folder ${showPlace(place)} holds more than ${MODULES_MAX} modules`,
    );
  }
  const modules: ToolModule[] = [];
  for (const entry of entries) {
    const at = path.join(folder, entry.name);
    if (entry.isFile() && EXTENSIONS.includes(path.extname(entry.name))) modules.push(module(at));
    const index = entry.isDirectory() ? await indexOf(at) : undefined;
    if (index !== undefined) modules.push(module(index, entry.name));
  }
  return modules;
}

/** Name under which the module is imported. */
function nameOf(file: string): string {
  const base = path.basename(file);
  return base === PYTHON_INDEX ? path.basename(path.dirname(file)) : path.basename(base, path.extname(base));
}

async function indexOf(folder: string): Promise<string | undefined> {
  const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  const name = INDEX_FILES.find((one) => files.some((file) => file.name === one));
  return name === undefined ? undefined : path.join(folder, name);
}

function locationOf(place: ToolPlace): ToolLocation {
  return typeof place === "string" ? { path: place } : place;
}
