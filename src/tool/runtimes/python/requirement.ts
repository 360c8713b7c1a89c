import { PackageError, quoted } from "../../package/step.ts";
import { countComparisons, isMet, type Marker, readMarker } from "./marker.ts";
import { isProjectName, normalizedName } from "./wheel-name.ts";
import { isSpecifiers } from "./versions.ts";

/** What a package needs of others (PEP 508): `requests[socks]>=2.8; python_version >= "3.8"`. */
export interface Requirement {
  /** Normalised. */
  readonly name: string;
  /** Normalised. */
  readonly extras: readonly string[];
  /** Such as `>=1.2,<2`; empty where any version will do. */
  readonly versions: string;
  /** When it counts; `null` where always. */
  readonly marker: Marker | null;
  /** The SHA-256 of wheels that will do, in hexadecimal; empty where any will. */
  readonly hashes: readonly string[];
  /** Where it is asked for, for messages. */
  readonly place: string;
}

const LINE_MAX = 4_096;
const EXTRAS_MAX = 50;
const REQUIREMENT = /^([\w.-]+)\s*(?:\[([^\]]*)\])?\s*(?:\(([^)]*)\)\s*|([^()[\];@]*))(?:;(.*))?$/s;
/** An address, or the path of a file, in one of the ways to write them. */
const ELSEWHERE = /^[\w.-]+\s*(?:\[[^\]]*\])?\s*@|^[a-z][a-z\d+.-]*:|^[^;\s]*[\\/]|^[^;\s]*\.(?:whl|zip|tar\.gz|tgz)$/i;

/** Reads a requirement. Throws a `PackageError` that names the place where it is not understood. */
export function readRequirement(text: string, place: string, hashes: readonly string[] = []): Requirement {
  // Long runs of what means nothing would take the patterns long.
  const written = text
    .slice(0, LINE_MAX + 1)
    .replaceAll(/\s+/g, " ")
    .trim();
  if (ELSEWHERE.test(written)) {
    const problem = "which is an address or a file: nothing is fetched, so ask for it by its name";
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
    // Between an operator and its version, where it means nothing.
    versions: versions.replaceAll(/\s+/g, ""),
    marker: condition === undefined ? null : markerOf(condition, place),
    hashes,
    place,
  };
}

/** Whether it counts where these extras are asked for, or none. */
export function counts({ marker }: Requirement, extras: readonly string[]): boolean {
  return marker === null || ["", ...extras].some((extra) => isMet(marker, extra));
}

/** How many comparisons it takes to find out whether it counts for one extra. */
export function comparisonsIn({ marker }: Requirement): number {
  return marker === null ? 0 : countComparisons(marker);
}

/** What is asked for, as it may be shown. */
export function shownRequirement({ name, extras, versions }: Requirement): string {
  return quoted(`${name}${extras.length === 0 ? "" : `[${extras.join(",")}]`}${versions}`);
}

function markerOf(condition: string, place: string): Marker {
  try {
    return readMarker(condition);
  } catch (error) {
    throw error instanceof PackageError ? new PackageError(`${place} ${error.message}`) : error;
  }
}
