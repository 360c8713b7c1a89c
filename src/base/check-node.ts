import { readFileSync } from "node:fs";
/*
 * Imported first by every entry of the package. An older Node can read all modules that an entry imports, but not run them: so they are
 * compiled for ES2023, and this one is evaluated before any other.
 */
const NEEDED = 24;
const { node } = process.versions;

if (Number.parseInt(node, 10) < NEEDED) {
  const install = `install it from https://nodejs.org/, or for one project with: npm install node@${NEEDED}`;
  const error = new Error(`glovebox needs Node.js ${NEEDED} or later, and this is Node.js ${node}; ${install}`);
  // Nothing is wrong at any of its lines.
  error.stack = error.message;
  throw error;
}

/** The version of this package. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const version: unknown = typeof manifest === "object" && manifest !== null ? Reflect.get(manifest, "version") : null;
  return typeof version === "string" ? version : "0.0.0";
}
