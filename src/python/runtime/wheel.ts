import { planExtraction, unpackedMax } from "../../kernel/tool/package/entry.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import type { PythonFile } from "./python-file.ts";
import { PYTHON_VERSION } from "./environment.ts";
import { type Libraries, type Library, readLibrary } from "./libraries.ts";
import { type Metadata, onlyField, readMetadata } from "./metadata.ts";
import { normalizedName } from "./wheel-name.ts";
import { pythonFile } from "./python-file.ts";
import { checkRecord } from "./record.ts";
import { readRequirement, type Requirement } from "./requirement.ts";
import { admits, compareVersions, isSpecifiers, isVersion } from "./versions.ts";
import type { WheelName } from "./wheel-name.ts";

/** The installable content of a wheel. */
export interface Wheel {
  /** Keyed by path in site-packages. */
  readonly files: ReadonlyMap<string, PythonFile>;
  /** Its machine code, keyed likewise. */
  readonly libraries: Libraries;
  /** Its dependencies, for all extras. */
  readonly requires: readonly Requirement[];
}

const REQUIRES_MAX = 1_000;
const COMPILED = /\.(?:so|pyd|dylib|dll)(?:\.[\d.]+)?$/i;
const CACHE = "__pycache__";

/**
 * Reads a wheel. Rejects with a `PackageError` that names its file if it is damaged or does not match its file name.
 */
export async function readWheel(bytes: Buffer, name: WheelName, maxBytes: number): Promise<Wheel> {
  const wheel = `the wheel ${quoted(name.file)}`;
  try {
    const { files, libraries, requires } = await readContents(bytes, name, maxBytes);
    return { files, libraries, requires: requires.map((text) => readRequirement(text, wheel)) };
  } catch (error) {
    if (!(error instanceof PackageError) || error.message.startsWith(wheel)) throw error;
    throw new PackageError(`${wheel} cannot be used: ${error.message}`);
  }
}

async function readContents(
  bytes: Buffer,
  name: WheelName,
  maxBytes: number,
): Promise<Omit<Wheel, "requires"> & { readonly requires: readonly string[] }> {
  const contents = await unpack(bytes, maxBytes);
  const folder = infoFolder(contents, name);
  checkRecord(contents, folder);
  checkFormat(readMetadata(required(contents, `${folder}/WHEEL`), "its WHEEL"));
  const metadata = readMetadata(required(contents, `${folder}/METADATA`), "its METADATA");
  checkMetadata(metadata, name);
  const requires = metadata.get("requires-dist") ?? [];
  if (requires.length > REQUIRES_MAX) throw new PackageError(`it requires more than ${REQUIRES_MAX} packages`);
  return { ...installed(contents, folder, name), requires };
}

/** The archive reader is loaded on demand: most engines have no wheels. */
export async function unpack(bytes: Buffer, maxBytes: number): Promise<ReadonlyMap<string, Uint8Array>> {
  const { readZip } = await import("../../kernel/tool/package/zip.ts");
  const { files } = planExtraction(await readZip(bytes), unpackedMax(bytes.length, maxBytes));
  const contents = new Map<string, Uint8Array>();
  for (const { path, entry } of files) contents.set(path, await entry.read());
  return contents;
}

/** The wheel's `.dist-info` folder. */
function infoFolder(contents: ReadonlyMap<string, Uint8Array>, { name, version }: WheelName): string {
  const [folder, another] = new Set(
    [...contents.keys()]
      .map((path) => path.slice(0, Math.max(0, path.indexOf("/"))))
      .filter((one) => one.endsWith(".dist-info")),
  );
  if (folder === undefined || another !== undefined) {
    throw new PackageError(`it has ${folder === undefined ? "no" : "more than one"} folder that ends in .dist-info`);
  }
  const [, ofName = "", ofVersion = ""] = /^(.+?)-([^-]+)\.dist-info$/.exec(folder) ?? [];
  if (normalizedName(ofName) !== name || !isSameVersion(ofVersion.replaceAll("_", "-"), version)) {
    throw new PackageError(`its file name does not match its folder ${quoted(folder)}`);
  }
  return folder;
}

function checkFormat(wheel: Metadata): void {
  const version = onlyField(wheel, "Wheel-Version", "its WHEEL");
  if (!/^1\.\d+$/.test(version)) throw new PackageError(`its wheel format is ${quoted(version)}; supported is 1.x`);
}

function checkMetadata(metadata: Metadata, { name, version }: WheelName): void {
  const [said, saidVersion] = ["Name", "Version"].map((field) => onlyField(metadata, field, "its METADATA"));
  if (normalizedName(said ?? "") !== name || !isSameVersion(saidVersion ?? "", version)) {
    throw new PackageError(`its file name does not match its METADATA, ${quoted(`${said} ${saidVersion}`)}`);
  }
  const [python = ""] = metadata.get("requires-python") ?? [];
  if (!isSpecifiers(python) || !admits(python, PYTHON_VERSION)) {
    throw new PackageError(`it requires Python ${quoted(python)}; this is Python ${PYTHON_VERSION}`);
  }
}

/**
 * The wheel's files at their installed paths. Scripts, headers and data, which are installed elsewhere, are left out.
 */
function installed(
  contents: ReadonlyMap<string, Uint8Array>,
  folder: string,
  { code }: WheelName,
): Pick<Wheel, "files" | "libraries"> {
  const data = `${folder.slice(0, -".dist-info".length)}.data/`;
  const files = new Map<string, PythonFile>();
  const libraries = new Map<string, Library>();
  for (const [path, bytes] of contents) {
    const [, place] = path.startsWith(data)
      ? (/^(?:purelib|platlib)\/(.+)$/.exec(path.slice(data.length)) ?? [])
      : ["", path];
    if (place === undefined || place.split("/").includes(CACHE)) continue;
    if (files.has(place) || libraries.has(place)) throw new PackageError(`it has ${quoted(place)} twice`);
    if (!COMPILED.test(place)) files.set(place, pythonFile(place, bytes));
    else if (code === "compiled") libraries.set(place, readLibrary(bytes, place));
    else
      throw new PackageError(`it contains compiled code (${quoted(place)}), and its name says that it is pure Python`);
  }
  return { files, libraries };
}

function required(contents: ReadonlyMap<string, Uint8Array>, path: string): Uint8Array {
  const bytes = contents.get(path);
  if (bytes === undefined) throw new PackageError(`it has no file ${quoted(path)}`);
  return bytes;
}

function isSameVersion(one: string, other: string): boolean {
  return isVersion(one) && isVersion(other) && compareVersions(one, other) === 0;
}
