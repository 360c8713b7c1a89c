import { resolve } from "node:path";
import { type OriginPattern, readOriginPattern } from "../../broker/capabilities/fetch/origin-pattern.ts";

/** Permitted sources and dependencies of packages. */
export interface PackageOptions {
  /**
   * Origins from which archives may be fetched: `https://assets.example.com/tools/`, `https://*.example.com`. Default:
   * none.
   */
  readonly origins?: readonly string[];
  /** Origins that may resolve to a private address: `http://127.0.0.1:8080`. Default: none. */
  readonly privateOrigins?: readonly string[];
  /** A folder whose `node_modules` contains the permitted dependencies. */
  readonly modules?: string;
  /** Names of npm packages in that folder that packages may depend on. Default: none. */
  readonly allow?: readonly string[];
  /**
   * A folder of wheels (`*.whl`) of pure Python or compiled for Pyodide, perhaps with a `pyodide-lock.json`: Python
   * packages may depend on these and on the interpreter's own modules only. Default: none.
   */
  readonly wheels?: string;
  /** Maximum size of an archive, packed and unpacked, in bytes. Default 64 MiB. */
  readonly maxBytes?: number;
}

/** `PackageOptions`, checked and with defaults. */
export interface ResolvedPackageOptions {
  readonly origins: readonly OriginPattern[];
  readonly privateOrigins: ReadonlySet<string>;
  readonly modules: string | undefined;
  readonly allow: ReadonlySet<string>;
  readonly wheels: string | undefined;
  readonly maxBytes: number;
}

const MAX_BYTES_DEFAULT = 64 * 1024 * 1024;
const LIST_MAX = 1_000;
const NAMES = ["origins", "privateOrigins", "modules", "allow", "wheels", "maxBytes"];
const NPM_NAME = /^(?:@[a-z\d~-][a-z\d._~-]*\/)?[a-z\d~-][a-z\d._~-]*$/;
const NPM_NAME_MAX = 214;

/** Whether a text is a valid npm package name. */
export function isNpmName(text: string): boolean {
  return text.length <= NPM_NAME_MAX && NPM_NAME.test(text);
}

/** Checks the options and fills in defaults. Throws a `TypeError` or `RangeError` that names the invalid option. */
export function resolvePackageOptions(given: unknown): ResolvedPackageOptions {
  if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given))) {
    throw new TypeError(`packages must be an object with the members ${NAMES.join(", ")}`);
  }
  const options = new Map<string, unknown>(Object.entries(given ?? {}));
  for (const name of options.keys()) {
    if (NAMES.includes(name)) continue;
    throw new TypeError(
      `packages.${name.slice(0, 64)} is not an option; the options of packages are ${NAMES.join(", ")}`,
    );
  }
  const modules = readFolder("modules", options.get("modules"));
  const allow = readList("allow", options.get("allow"));
  const maxBytes = options.get("maxBytes") ?? MAX_BYTES_DEFAULT;
  const wrong = allow.findIndex((name) => !isNpmName(name));
  if (wrong >= 0) throw new TypeError(`packages.allow/${wrong} must be the name of an npm package`);
  if (allow.length > 0 && modules === undefined) {
    throw new TypeError("packages.allow needs packages.modules, the folder that holds them");
  }
  if (typeof maxBytes !== "number" || !Number.isSafeInteger(maxBytes) || maxBytes < 1) {
    throw new RangeError("packages.maxBytes must be a whole number of at least 1");
  }
  return {
    origins: readPatterns("origins", options.get("origins"), isSecure),
    privateOrigins: new Set(
      readPatterns("privateOrigins", options.get("privateOrigins"), isExact).map(({ text }) => text),
    ),
    modules,
    allow: new Set(allow),
    wheels: readFolder("wheels", options.get("wheels")),
    maxBytes,
  };
}

function readFolder(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return resolve(value);
  throw new TypeError(`packages.${name} must be the path of a folder`);
}

function readList(name: string, value: unknown): readonly string[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value) && value.length <= LIST_MAX && value.every((one) => typeof one === "string");
  if (!isList) throw new TypeError(`packages.${name} must be a list of at most ${LIST_MAX} strings`);
  return value;
}

function readPatterns(
  name: string,
  value: unknown,
  admits: (pattern: OriginPattern) => boolean,
): readonly OriginPattern[] {
  return readList(name, value).map((text, at) => {
    const pattern = readOriginPattern(text);
    if (pattern !== null && admits(pattern)) return pattern;
    const form = name === "origins" ? "an origin of https, perhaps with a path, or *" : "one origin, without a path";
    throw new TypeError(`packages.${name}/${at} is not ${form}`);
  });
}

function isSecure({ protocol }: OriginPattern): boolean {
  return protocol === null || protocol === "https:";
}

function isExact({ protocol, isWild, path }: OriginPattern): boolean {
  return protocol !== null && !isWild && path === "";
}
