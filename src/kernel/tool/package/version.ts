type Version = readonly [major: number, minor: number, patch: number];

const RANGE_MAX = 64;
const VERSION = /^[v=]?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[\w.-]+)?(?:\+[\w.-]+)?$/;
const ANY: readonly string[] = ["", "*", "x", "latest"];

/** Whether a text is a supported range: any, `1.2.3`, `^1.2.3` or `~1.2.3`. */
export function isRange(text: string): boolean {
  return text.length <= RANGE_MAX && (ANY.includes(text) || VERSION.test(text.replace(/^[\^~]/, "")));
}

/** Whether a version satisfies a range, as in npm. A pre-release matches only itself. */
export function satisfies(version: string, range: string): boolean {
  if (ANY.includes(range)) return true;
  const least = range.replace(/^[\^~]/, "");
  const [one, other] = [parse(version), parse(least)];
  if (one === null || other === null) return false;
  if (plain(version) === plain(least)) return true;
  if (least === range || version.includes("-")) return false;
  // Fixed numbers: for a caret, up to the first that is not zero; for a tilde, the first two.
  const fixed = range.startsWith("~") ? 2 : Math.min(other.findIndex((part) => part !== 0) + 1 || 3, 3);
  return other.every((part, at) => at >= fixed || one[at] === part) && isAtLeast(one, other);
}

function isAtLeast(one: Version, other: Version): boolean {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at < 0 || (one[at] ?? 0) > (other[at] ?? 0);
}

function parse(text: string): Version | null {
  const [, major, minor, patch] = VERSION.exec(text) ?? [];
  return major === undefined ? null : [Number(major), Number(minor), Number(patch)];
}

function plain(text: string): string {
  return text.replace(/^[v=]/, "").replace(/\+.*$/, "");
}
