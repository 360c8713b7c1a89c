import path from "path-browserify";

/** `node:path`, with POSIX paths as everywhere inside an isolate. */
const posix: { [name: string]: unknown } = { ...path, toNamespacedPath: (name: unknown) => name, matchesGlob };
posix["posix"] = posix;
posix["win32"] = posix;

const GLOB = /\*\*\/?|\*|\?|\[[^\]]+\]|\{[^}]+\}|[.+^$()|\\]/g;

function matchesGlob(file: string, pattern: string): boolean {
  const source = pattern.replaceAll(GLOB, (part) => {
    if (part.startsWith("**")) return "(?:.*/)?";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.startsWith("[")) return part;
    return part.startsWith("{") ? `(?:${part.slice(1, -1).replaceAll(",", "|")})` : `\\${part}`;
  });
  return new RegExp(`^${source}$`).test(file);
}

export const shared = posix;
