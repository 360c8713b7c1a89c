import path from "node:path";
import type { ModuleWork } from "../../kernel/tool/build/job.ts";
import type { PythonScript } from "./python-file.ts";
import { install } from "./installation.ts";
import type { Libraries } from "./libraries.ts";
import { CODE } from "../../kernel/tool/package/layout.ts";
import { PYPROJECT } from "./pyproject.ts";
import { readProject } from "./project.ts";
import { readPylock } from "./pylock.ts";
import { packageOfModule } from "./imports.ts";
import { readRequirement, type Requirement } from "./requirement.ts";
import { readRequirements } from "./requirements.ts";
import { scriptOfFile, scriptOfPackage, scriptOfProject, scriptText } from "./script.ts";
import { quoted } from "../../kernel/tool/package/step.ts";
import { Wheels } from "./wheels.ts";

/** The files of a Python package in a folder, with the wheels that it requires, to write as one text. */
export interface PythonPackage {
  readonly folder: string;
  /** The tool's file, or `pyproject.toml`, which names it. */
  readonly entry: string;
  /** Whether the file is a tool by itself: it declares no packages, and gets those that it imports. */
  readonly isFile?: true;
  /** The operator's folder of wheels. */
  readonly wheels?: string;
  readonly maxBytes: number;
}

/** The wheels of the last package: the next one often needs the same. */
let kept: { readonly key: string; readonly wheels: Wheels } | undefined;

/** The text of a Python package with the wheels that it requires, in a build process. Rejects with a `PackageError`. */
export async function readPackage({
  folder,
  entry,
  isFile,
  wheels: given,
  maxBytes,
}: PythonPackage): Promise<{ readonly text: string; readonly sources: readonly string[] }> {
  const key = JSON.stringify([given, maxBytes]);
  const { wheels } = (kept = kept?.key === key ? kept : { key, wheels: new Wheels(given, maxBytes) });
  const { script, libraries } =
    isFile === true
      ? await readFileScript(path.join(folder, entry), wheels)
      : entry === PYPROJECT
        ? await readProjectScript(folder, wheels)
        : await readPackageScript(folder, entry, wheels);
  return { text: scriptText(script, libraries), sources: Object.keys(script.files) };
}

/** For a build process, which imports this module. `data`: a `PythonPackage`. The answer's only text is the script. */
export const work: ModuleWork = async (data) => {
  const { text, sources } = await readPackage(data as PythonPackage);
  return { value: { sources }, texts: [text] };
};

/** A script with the machine code of its packages. */
interface ReadScript {
  readonly script: PythonScript;
  readonly libraries: Libraries;
}

async function readPackageScript(folder: string, entry: string, wheels: Wheels): Promise<ReadScript> {
  const { packages, libraries } = await install(await withLock(await readRequirements(folder), folder, CODE), wheels);
  return { script: await scriptOfPackage(folder, entry, packages), libraries };
}

async function readProjectScript(folder: string, wheels: Wheels): Promise<ReadScript> {
  const { root, entry, requirements } = await readProject(folder);
  const { packages, libraries } = await install(await withLock(requirements, folder, ""), wheels);
  return { script: await scriptOfProject(root, entry, packages), libraries };
}

/** The requirements, with the pins of a lock in the same folder. */
async function withLock(asked: readonly Requirement[], root: string, folder: string): Promise<readonly Requirement[]> {
  return [...((await readPylock(root, folder)) ?? []), ...asked];
}

/** A file declares no packages: it gets the wheels of those that it imports, if there are any. */
async function readFileScript(file: string, wheels: Wheels): Promise<ReadScript> {
  const { script, others } = await scriptOfFile(file);
  const listed = await wheels.list();
  const asked = [...others].map(packageOfModule).filter((name) => listed.has(name));
  const requirements = asked.map((name) => readRequirement(name, `the import of ${quoted(name)}`, []));
  const { packages, libraries } = await install(requirements, wheels);
  return { script: { ...script, packages }, libraries };
}
