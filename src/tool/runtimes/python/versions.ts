import { compare, explain, satisfies, valid, validRange } from "@renovatebot/pep440";

const TEXT_MAX = 128;
const SPECIFIERS_MAX = 512;
const EXCLUSIVE = /^([<>])\s*([^=\s].*)$/;
const IDENTICAL = /^===\s*(.*)$/;

/** Whether a text is a version as Python's packages have them (PEP 440). */
export function isVersion(text: string): boolean {
  return text.length <= TEXT_MAX && valid(text) !== null;
}

/** Whether a text is what versions are asked for with: `>=1.2,<2`, `~=1.4`, `==1.*`; empty where any will do. */
export function isSpecifiers(text: string): boolean {
  return text.length <= SPECIFIERS_MAX && partsOf(text).every(validRange);
}

/** Which of two versions is the later one: a number above 0 where that is the first. */
export function compareVersions(one: string, other: string): number {
  return compare(one, other);
}

/** What is not yet released is only meant where nothing else is there. */
export function isPrerelease(version: string): boolean {
  return explain(version)?.is_prerelease === true;
}

/** Whether a version is one of those that are asked for, released or not. Both have to be valid. */
export function admits(specifiers: string, version: string): boolean {
  return partsOf(specifiers).every((part) => {
    const [, identical] = IDENTICAL.exec(part) ?? [];
    if (identical !== undefined) return identical.toLowerCase() === version.toLowerCase();
    const [, order, bound] = EXCLUSIVE.exec(part) ?? [];
    if (bound !== undefined) return isBeyond(version, order === ">", bound);
    return satisfies(padded(version), part, { prereleases: true });
  });
}

/** How many comparisons it takes to find out whether a version is admitted. */
export function countSpecifiers(specifiers: string): number {
  return partsOf(specifiers).length;
}

/** The versions that are named in what is asked for. */
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

/** The library takes all versions with a bound's release for the bound itself. */
function isBeyond(version: string, isAbove: boolean, bound: string): boolean {
  const [one, limit] = [explain(version), explain(bound)];
  if (one === null || limit === null) return false;
  const order = compare(one.public, limit.public);
  if (isAbove ? order <= 0 : order >= 0) return false;
  // What only comes before a release, or after it, is not what `<` and `>` of that release are about.
  const isOther = compare(one.base_version, limit.base_version) !== 0 || limit.is_prerelease || limit.is_postrelease;
  return isOther || (isAbove ? !one.is_postrelease : !one.is_prerelease);
}

/** `1` is `1.0.0`, which has to be seen where `==1.0.*` is asked for. */
function padded(version: string): string {
  return version.replace(/^(v?(?:\d+!)?)(\d+(?:\.\d+)*)/i, (_all, before: string, release: string) => {
    const parts = release.split(".");
    return before + [...parts, ...Array<string>(Math.max(0, 4 - parts.length)).fill("0")].join(".");
  });
}
