/** Whether a pattern matches a name. Patterns may end in `*`. */
export function matchesName(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/**
 * Whether a list of names, each of which may end in `*`, contains a name. Without a list, every name is contained; a
 * value that is not a string never is.
 */
export function isAmong(patterns: readonly string[] | undefined, name: unknown): boolean {
  return patterns === undefined || (typeof name === "string" && patterns.some((pattern) => matchesName(pattern, name)));
}

/** The narrower of two patterns; `null` if neither matches all names of the other. */
export function narrowerOf(one: string, other: string): string | null {
  if (matchesName(other, one)) return one;
  return matchesName(one, other) ? other : null;
}
