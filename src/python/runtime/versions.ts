import { compare, explain, satisfies, valid, validRange } from "@renovatebot/pep440";

const TEXT_MAX = 128;
const SPECIFIERS_MAX = 512;
const EXCLUSIVE = /^([<>])\s*([^=\s].*)$/;
const IDENTICAL = /^===\s*(.*)$/;

/** Whether a text is a valid Python package version (PEP 440). */
export function isVersion(text: string): boolean {
  return text.length <= TEXT_MAX && valid(text) !== null;
}

/** Whether a text is a list of version specifiers: `>=1.2,<2`, `~=1.4`, `==1.*`; empty for any version. */
export function isSpecifiers(text: string): boolean {
  return text.length <= SPECIFIERS_MAX && partsOf(text).every(validRange);
}

/** Compares two versions; positive if the first is the later one. */
export function compareVersions(one: string, other: string): number {
  return compare(one, other);
}

/** Whether a version is a pre-release, which is chosen only if no release fits. */
export function isPrerelease(version: string): boolean {
  return explain(version)?.is_prerelease === true;
}

/** Whether a version matches all specifiers; pre-releases may match. Both must be valid. */
export function admits(specifiers: string, version: string): boolean {
  return partsOf(specifiers).every((part) => {
    const [, identical] = IDENTICAL.exec(part) ?? [];
    if (identical !== undefined) return identical.toLowerCase() === version.toLowerCase();
    const [, order, bound] = EXCLUSIVE.exec(part) ?? [];
    if (bound !== undefined) return isBeyond(version, order === ">", bound);
    return satisfies(padded(version), part, { prereleases: true });
  });
}

/** Number of comparisons that `admits` makes. */
export function countSpecifiers(specifiers: string): number {
  return partsOf(specifiers).length;
}

/** The versions named in specifiers. */
export function versionsIn(specifiers: string): readonly string[] {
  return partsOf(specifiers)
    .map((part) => part.replace(/^[<>=!~]+\s*/, "").replace(/\.\*$/, ""))
    .filter(isVersion);
}

function partsOf(specifiers: string): readonly string[] {
  return specifiers
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Handles `<` and `>` because the library treats all versions of a bound's release as the bound itself. */
function isBeyond(version: string, isAbove: boolean, bound: string): boolean {
  const [one, limit] = [explain(version), explain(bound)];
  if (one === null || limit === null) return false;
  const order = compare(one.public, limit.public);
  if (isAbove ? order <= 0 : order >= 0) return false;
  // PEP 440: `<` excludes pre-releases of its bound, and `>` excludes post-releases.
  const isOther = compare(one.base_version, limit.base_version) !== 0 || limit.is_prerelease || limit.is_postrelease;
  return isOther || (isAbove ? !one.is_postrelease : !one.is_prerelease);
}

/** Pads a release with zeros: `1` equals `1.0.0`, so it must match `==1.0.*`. */
function padded(version: string): string {
  return version.replace(/^(v?(?:\d+!)?)(\d+(?:\.\d+)*)/i, (_all, before: string, release: string) => {
    const parts = release.split(".");
    return before + [...parts, ...Array<string>(Math.max(0, 4 - parts.length)).fill("0")].join(".");
  });
}
