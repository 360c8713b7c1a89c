/** Patterns of paths for `path.matchesGlob`. */

const PART = /\*\*(?:\/|$)|\*|\?|\[[^\]]+\]|\{[^{}]+\}|[.+^$()|\\{}[\]]/g;

/** Whether a path matches a pattern. On Windows, its separator equals that of POSIX. */
export function matchesGlob(path: string, pattern: string, isWindows: boolean): boolean {
  const [file, glob] = isWindows ? [path, pattern].map((text) => text.replaceAll("\\", "/")) : [path, pattern];
  return new RegExp(`^${sourceOf(glob ?? "")}$`, isWindows ? "is" : "s").test(file ?? "");
}

function sourceOf(glob: string): string {
  return glob.replaceAll(PART, (part) => {
    if (part === "**") return ".*";
    if (part === "**/") return "(?:.*/)?";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.startsWith("[") && part.length > 1) return part.replace("[!", "[^");
    if (part.startsWith("{") && part.length > 1) return `(?:${part.slice(1, -1).split(",").map(sourceOf).join("|")})`;
    return `\\${part}`;
  });
}
