import { isObject } from "../../base/json.ts";
import path from "node:path";
import { readFileAt } from "./file.ts";
import { CODE, parseJson } from "./layout.ts";
import { isNpmName, type ResolvedPackageOptions } from "./options.ts";
import { PackageError, quoted } from "./step.ts";
import { isRange, satisfies } from "./version.ts";

/** An npm package that a tool package depends on. */
interface Dependency {
  readonly name: string;
  /** `*` for any version. */
  readonly range: string;
  /** File and line of the dependency, for messages. */
  readonly place: string;
}

/** The npm packages that a tool package may import, and the folder whose `node_modules` holds them. */
export interface Dependencies {
  readonly names: ReadonlySet<string>;
  readonly modules: string | undefined;
}

const FILE_BYTES_MAX = 256 * 1024;
const DEPENDENCIES_MAX = 200;
const REQUIREMENT = /^((?:@[^@\s=]+)?[^@\s=]+)(?:(?:\s*==\s*|@)(\S+))?$/;

/**
 * The npm packages listed in `code/requirements.txt` and in the `dependencies` of `code/package.json`. Each must be
 * allowed by the operator and installed: they are never downloaded. Rejects with a `PackageError`.
 */
export async function readDependencies(root: string, options: ResolvedPackageOptions): Promise<Dependencies> {
  const asked = [...(await readRequirements(root)), ...(await readManifest(root))];
  if (asked.length > DEPENDENCIES_MAX) throw new PackageError(`it asks for more than ${DEPENDENCIES_MAX} packages`);
  for (const dependency of asked) await checkDependency(dependency, options);
  return { names: new Set(asked.map(({ name }) => name)), modules: options.modules };
}

async function readRequirements(root: string): Promise<readonly Dependency[]> {
  const file = `${CODE}/requirements.txt`;
  const bytes = await readFileAt(path.join(root, file), file, FILE_BYTES_MAX);
  const lines =
    bytes
      ?.toString("utf8")
      .replace(/^\ufeff/, "")
      .split(/\r\n|\r|\n/) ?? [];
  return lines.flatMap((written, at) => {
    const line = written.replace(/(?:^|\s)#.*$/, "").trim();
    if (line === "") return [];
    const place = `${file}, line ${at + 1},`;
    const [, name = "", range = "*"] = REQUIREMENT.exec(line) ?? [];
    return [dependencyOf(name, range, place, line)];
  });
}

async function readManifest(root: string): Promise<readonly Dependency[]> {
  const file = `${CODE}/package.json`;
  const bytes = await readFileAt(path.join(root, file), file, FILE_BYTES_MAX);
  if (bytes === undefined) return [];
  const manifest = parseJson(bytes, file);
  const given: unknown = isObject(manifest)
    ? Object.entries(manifest).find(([key]) => key === "dependencies")?.[1]
    : {};
  if (!isObject(manifest) || (given !== undefined && !isObject(given))) {
    throw new PackageError(`${file} must be a JSON object with an object "dependencies"`);
  }
  return Object.entries(given ?? {}).map(([name, range]) =>
    dependencyOf(name, typeof range === "string" ? range.trim() : "?", file, `${name}: ${String(range)}`),
  );
}

function dependencyOf(name: string, range: string, place: string, written: string): Dependency {
  if (!isNpmName(name) || !isRange(range)) {
    const forms = "a name, or a name with a version such as 1.2.3, ^1.2.3, ~1.2.3 or *";
    throw new PackageError(`${place} asks for ${quoted(written)}, which is not understood: it is ${forms}`);
  }
  return { name, range, place };
}

async function checkDependency({ name, range, place }: Dependency, options: ResolvedPackageOptions): Promise<void> {
  const { allow, modules } = options;
  if (modules === undefined || !allow.has(name)) {
    throw new PackageError(
      `${place} asks for ${quoted(name)}, which packages may not depend on here; the operator can add it to packages.allow`,
    );
  }
  const version = await installedVersion(path.join(modules, "node_modules", name));
  if (version === undefined) {
    throw new PackageError(
      `${place} asks for ${quoted(name)}, which is allowed but not there; the operator can install it in packages.modules`,
    );
  }
  if (!satisfies(version, range)) {
    throw new PackageError(`${place} asks for ${quoted(`${name}@${range}`)}, and what is there is ${quoted(version)}`);
  }
}

/** Links are followed, because the folders are the operator's own. */
async function installedVersion(folder: string): Promise<string | undefined> {
  const bytes = await readFileAt(path.join(folder, "package.json"), "package.json", FILE_BYTES_MAX, true);
  const manifest = bytes === undefined ? undefined : parseJson(bytes, "package.json");
  if (!isObject(manifest)) return undefined;
  const version: unknown = new Map<string, unknown>(Object.entries(manifest)).get("version");
  return typeof version === "string" ? version : "0.0.0";
}
