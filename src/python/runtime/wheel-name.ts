import { PLATFORMS, PYTHON_MINOR } from "./environment.ts";
import { isVersion } from "./versions.ts";

/** The parts of a wheel's file name (PEP 427): `name-1.2-py3-none-any.whl`. */
export interface WheelName {
  readonly file: string;
  /** Normalized (PEP 503). */
  readonly name: string;
  readonly version: string;
  /** Among wheels of the same version, the highest build wins. */
  readonly build: number;
  /** `compiled` for this interpreter; `other`: pure, but for another Python version; `foreign`: compiled for another. */
  readonly code: "pure" | "compiled" | "other" | "foreign";
}

const EXTENSION = ".whl";
const FILE_MAX = 255;
const TAG = /^[\w.]+$/;

/** Parses a file name; `null` if it is not a wheel's. */
export function readWheelName(file: string): WheelName | null {
  if (!file.endsWith(EXTENSION) || file.length > FILE_MAX) return null;
  const parts = file.slice(0, -EXTENSION.length).split("-");
  const [python, abi, platform] = parts.slice(-3);
  const [name, version, build = "0", ...more] = parts.slice(0, -3);
  if (name === undefined || version === undefined || python === undefined || abi === undefined) return null;
  if (platform === undefined || more.length > 0 || ![python, abi, platform].every((tag) => TAG.test(tag))) return null;
  const number = /^\d{1,9}/.exec(build)?.[0];
  // File names have an underscore in place of a dash.
  const unescaped = version.replaceAll("_", "-");
  if (!isProjectName(name) || number === undefined || !isVersion(unescaped)) return null;
  const code = codeOf(python.split("."), abi.split("."), platform.split("."));
  return { file, name: normalizedName(name), version: unescaped, build: Number(number), code };
}

function codeOf(pythons: readonly string[], abis: readonly string[], platforms: readonly string[]): WheelName["code"] {
  if (abis.includes("none") && platforms.includes("any")) return pythons.some(isForPython) ? "pure" : "other";
  const isForUs = platforms.some((platform) => PLATFORMS.includes(platform));
  return isForUs && abis.some((abi) => pythons.some((python) => isForAbi(python, abi))) ? "compiled" : "foreign";
}

/** Whether code compiled for a binary interface of an interpreter loads here. */
function isForAbi(python: string, abi: string): boolean {
  if (abi === "none") return isForPython(python);
  if (abi === "abi3") return Number(/^cp3(\d{1,3})$/.exec(python)?.[1] ?? Infinity) <= PYTHON_MINOR;
  return abi === `cp3${PYTHON_MINOR}` && python === abi;
}

/** Whether a tag is for the language or for the interpreter, and for no later version. */
function isForPython(tag: string): boolean {
  const minor = /^py3(\d{1,3})$/.exec(tag)?.[1];
  return tag === "py3" || tag === `cp3${PYTHON_MINOR}` || (minor !== undefined && Number(minor) <= PYTHON_MINOR);
}

const NAME_MAX = 128;
const NAME = /^[a-z\d][\w.-]*$/i;

/** Whether a text is a valid name of a project or an extra (PEP 508). */
export function isProjectName(text: string): boolean {
  return text.length <= NAME_MAX && NAME.test(text) && !/[^a-z\d]$/i.test(text);
}

/** The normalized name (PEP 503): `Foo.Bar` becomes `foo-bar`. */
export function normalizedName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}
