import { mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { temporaryFolder } from "./temporary.ts";

/** Workspaces as package managers leave them on disk: what their `install` makes of these packages, link by link. */

export const MANAGERS = ["npm", "pnpm", "yarn"] as const;

/** A tool that uses all that a project has besides its own module. */
const FILES = {
  "apps/agent/package.json": `{ "name": "agent", "type": "module" }`,
  "apps/agent/tsconfig.json": `{
    // What all packages have, and more.
    "extends": ["../../tsconfig.base.json", "@acme/tsconfig/strict.json"],
    "compilerOptions": { "strict": true, },
  }`,
  "apps/agent/lib/tax.ts": `export const tax: number = 19;`,
  "apps/agent/tools/table.json": `{ "eur": 1 }`,
  "apps/agent/tools/note.txt": `note`,
  "apps/agent/tools/data/rates.json": `{ "usd": 2 }`,
  "apps/agent/tools/convert.ts": `
    import { cents } from "@acme/shared";
    import { tax } from "../lib/tax.ts";
    import { round } from "~/round";
    import table from "./table.json";
    import note from "./note.txt";
    export const spec = { name: "convert", description: "Converts." };
    export default async () => {
      const rates = await (await fetch(new URL("./data/rates.json", import.meta.url))).json();
      return { cents: cents(1234), tax, round: round(1.6), table, note, rates, url: import.meta.url };
    };`,
  "packages/shared/package.json": `{ "name": "@acme/shared", "type": "module", "exports": { ".": "./src/index.ts" } }`,
  "packages/shared/src/index.ts": `
    import { sign } from "./sign.js";
    import unit from "unit";
    export const cents = (n: number): string => sign + (n / 100).toFixed(2) + unit;`,
  "packages/shared/src/sign.ts": `export const sign: string = "+";`,
  "packages/tsconfig/package.json": `{ "name": "@acme/tsconfig", "exports": { "./*": "./*" } }`,
  "packages/tsconfig/strict.json": `{ "compilerOptions": { "strict": true } }`,
  "shared/round.ts": `export const round = (n: number): number => Math.round(n);`,
  "tsconfig.base.json": `{ "compilerOptions": { "paths": { "~/*": ["./shared/*"] } } }`,
};

/** The package of a registry that the workspace's own packages use. */
const UNIT = {
  "package.json": `{ "name": "unit", "version": "1.0.0", "main": "index.js" }`,
  "index.js": `module.exports = " EUR";`,
};

/** What the tool of every workspace answers. */
export const ANSWER = {
  cents: "+12.34 EUR",
  tax: 19,
  round: 2,
  table: { eur: 1 },
  note: "note",
  rates: { usd: 2 },
  url: "file:///tool/apps/agent/tools/convert.ts",
};

/** A workspace; resolves with its folder, which goes when the test ends. Its tool is `apps/agent/tools/convert.ts`. */
export async function workspaceOf(manager: (typeof MANAGERS)[number]): Promise<string> {
  const isPnpm = manager === "pnpm";
  const store = isPnpm ? "node_modules/.pnpm/unit@1.0.0/node_modules/unit" : "node_modules/unit";
  const manifest = { name: "acme", private: true, ...(!isPnpm && { workspaces: ["packages/*", "apps/*"] }) };
  const folder = await temporaryFolder({
    ...FILES,
    "package.json": JSON.stringify(manifest),
    ...(isPnpm && { "pnpm-workspace.yaml": "packages:\n  - packages/*\n  - apps/*\n" }),
    ...Object.fromEntries(Object.entries(UNIT).map(([name, text]) => [`${store}/${name}`, text])),
  });
  const links = isPnpm
    ? {
        "apps/agent/node_modules/@acme/shared": "packages/shared",
        "apps/agent/node_modules/@acme/tsconfig": "packages/tsconfig",
        "packages/shared/node_modules/unit": store,
      }
    : {
        "node_modules/agent": "apps/agent",
        "node_modules/@acme/shared": "packages/shared",
        "node_modules/@acme/tsconfig": "packages/tsconfig",
      };
  for (const [from, to] of Object.entries(links)) await link(folder, from, to);
  return folder;
}

/** Makes a relative link, as package managers do. */
export async function link(folder: string, from: string, to: string): Promise<void> {
  const file = path.join(folder, from);
  await mkdir(path.dirname(file), { recursive: true });
  await symlink(path.relative(path.dirname(file), path.join(folder, to)), file);
}
