import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { countComparisons, isMet, type Marker, readMarker } from "./marker.ts";
import { isProjectName, normalizedName } from "./wheel-name.ts";
import { isSpecifiers } from "./versions.ts";

/** A dependency of a package (PEP 508): `requests[socks]>=2.8; python_version >= "3.8"`. */
export interface Requirement {
  /** Normalized (PEP 503). */
  readonly name: string;
  /** Normalized (PEP 503). */
  readonly extras: readonly string[];
  /** Such as `>=1.2,<2`; empty for any version. */
  readonly versions: string;
  /** The condition under which it applies; `null` for always. */
  readonly marker: Marker | null;
  /** SHA-256 hashes of acceptable wheels, in hexadecimal; empty for any. */
  readonly hashes: readonly string[];
  /** File and line of the requirement, for messages. */
  readonly place: string;
}

const LINE_MAX = 4_096;
const EXTRAS_MAX = 50;
const REQUIREMENT = /^([\w.-]+)\s*(?:\[([^\]]*)\])?\s*(?:\(([^)]*)\)\s*|([^()[\];@]*))(?:;(.*))?$/s;
/** A URL or a file path, in any of its notations. */
const ELSEWHERE = /^[\w.-]+\s*(?:\[[^\]]*\])?\s*@|^[a-z][a-z\d+.-]*:|^[^;\s]*[\\/]|^[^;\s]*\.(?:whl|zip|tar\.gz|tgz)$/i;

/** Parses a requirement. Throws a `PackageError` that names its place. */
export function readRequirement(text: string, place: string, hashes: readonly string[] = []): Requirement {
  // Collapses whitespace, because long runs of it would make the patterns slow.
  const written = text
    .slice(0, LINE_MAX + 1)
    .replaceAll(/\s+/g, " ")
    .trim();
  if (ELSEWHERE.test(written)) {
    const problem = "which is an address or a file: ask for it by its name";
    throw new PackageError(`${place} asks for ${quoted(written)}, ${problem}`);
  }
  const [, name = "", listed = "", inBrackets, plain, condition] =
    text.length > LINE_MAX ? [] : (REQUIREMENT.exec(written) ?? []);
  const extras = listed
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  const versions = (inBrackets ?? plain ?? "").trim();
  const isUnderstood = isProjectName(name) && extras.length <= EXTRAS_MAX && extras.every(isProjectName);
  if (!isUnderstood || !isSpecifiers(versions)) {
    const forms = 'a name, perhaps with versions and a condition: name[extra]>=1.2,<2; python_version >= "3.8"';
    throw new PackageError(`${place} asks for ${quoted(written)}, which is not understood: it is ${forms}`);
  }
  return {
    name: normalizedName(name),
    extras: extras.map(normalizedName),
    // Removes the insignificant whitespace between an operator and its version.
    versions: versions.replaceAll(/\s+/g, ""),
    marker: condition === undefined ? null : markerOf(condition, place),
    hashes,
    place,
  };
}

/** Whether a requirement applies, for the given extras or none. */
export function counts({ marker }: Requirement, extras: readonly string[]): boolean {
  return marker === null || ["", ...extras].some((extra) => isMet(marker, extra));
}

/** Whether it names hashes of the wheels that meet it. */
export function isHashed({ hashes }: Requirement): boolean {
  return hashes.length > 0;
}

/** Number of comparisons to decide whether it applies for one extra. */
export function comparisonsIn({ marker }: Requirement): number {
  return marker === null ? 0 : countComparisons(marker);
}

/** The requirement as messages show it. */
export function shownRequirement(requirement: Requirement): string {
  return quoted(requirementText(requirement));
}

/** The requirement without its condition and its hashes. */
export function requirementText({ name, extras, versions }: Requirement): string {
  return `${name}${extras.length === 0 ? "" : `[${extras.join(",")}]`}${versions}`;
}

function markerOf(condition: string, place: string): Marker {
  try {
    return readMarker(condition);
  } catch (error) {
    throw error instanceof PackageError ? new PackageError(`${place} ${error.message}`) : error;
  }
}
