import { readFileSync } from "node:fs";

/*
 * Every entry of the package imports this module first. Older versions of Node.js can parse the other modules (they are compiled
 * for ES2023) but not run them, so this check must run before them.
 */
const NEEDED = 24;
const { node } = process.versions;

if (Number.parseInt(node, 10) < NEEDED) {
  const install = `install it from https://nodejs.org/, or for one project with: npm install node@${NEEDED}`;
  const error = new Error(`glovebox needs Node.js ${NEEDED} or later, and this is Node.js ${node}; ${install}`);
  // The stack trace points at no mistake of the user, so it is left out.
  error.stack = error.message;
  throw error;
}

/** Runtimes that pass for Node.js. They load every entry, but their engines have no isolates for tools. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ["bun", "Bun"],
  ["deno", "Deno"],
]);

const PLUG_AND_PLAY =
  "an engine's processes find packages in node_modules only, and Yarn's Plug'n'Play makes none; write nodeLinker: node-modules into .yarnrc.yml, and run yarn install";

/** Throws in a runtime in which tools cannot run. */
export function requireIsolates(versions: Readonly<Record<string, string | undefined>> = process.versions): void {
  if (versions["pnp"] !== undefined) throw new Error(PLUG_AND_PLAY);
  for (const [key, name] of OTHERS) {
    const version = versions[key];
    if (version === undefined) continue;
    throw new Error(
      `an engine needs Node.js, and this is ${name} ${version}; run the engine in Node.js, and call it with glovebox/client`,
    );
  }
}

/** The version of this package. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  const version: unknown = typeof manifest === "object" && manifest !== null ? Reflect.get(manifest, "version") : null;
  return typeof version === "string" ? version : "0.0.0";
}
