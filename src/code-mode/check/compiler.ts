import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { isObject, memberOf } from "../../kernel/base/json.ts";

/** TypeScript's native compiler on this machine, or the reason why it cannot be used. */
export type FoundCompiler =
  { readonly kind: "found"; readonly file: string } | { readonly kind: "missing"; readonly reason: string };

const LEAST_MAJOR = 7;
const NAME = process.platform === "win32" ? "tsc.exe" : "tsc";

let found: FoundCompiler | undefined;

/** Searched for once: the package `typescript`, an optional peer, contains the compiler of its platform. */
export function findCompiler(): FoundCompiler {
  return (found ??= look());
}

function look(): FoundCompiler {
  try {
    const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
    const own = createRequire(manifest);
    const values: unknown = own(manifest);
    const version = isObject(values) ? String(memberOf(values, "version")) : "";
    if (Number.parseInt(version, 10) < LEAST_MAJOR) {
      return { kind: "missing", reason: `typescript ${version} is installed, and version ${LEAST_MAJOR} is needed` };
    }
    const place = own.resolve(`@typescript/typescript-${process.platform}-${process.arch}/package.json`);
    const file = realpathSync(path.join(path.dirname(place), "lib", NAME));
    if (existsSync(file)) return { kind: "found", file };
  } catch {
    // It is not installed, or not for this platform.
  }
  return { kind: "missing", reason: "the package typescript is not installed; run: npm install typescript@7" };
}
