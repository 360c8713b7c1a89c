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

/** The version of this package. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const version: unknown = typeof manifest === "object" && manifest !== null ? Reflect.get(manifest, "version") : null;
  return typeof version === "string" ? version : "0.0.0";
}
