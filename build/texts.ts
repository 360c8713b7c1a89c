/**
 * The last step of `npm run compile`: the texts that run in isolates and browsers, and the licences of those who wrote
 * parts of them.
 */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { thirdPartyLicences } from "./third-party.ts";

const COMPILED = new URL("../compiled/", import.meta.url);
const PAGE = "server/console/page";

type Prelude = typeof import("../src/kernel/tool/runtimes/prelude.ts");
type Plugins = typeof import("../src/standard/plugins.ts");
type Zones = typeof import("../src/python/runtime/zones.ts");
type Console = typeof import("../src/server/console/build-page.ts");
type Packages = typeof import("../src/kernel/tool/runtimes/bundled-packages.ts");

/** What the compiler has just written. */
async function load<Module>(file: string): Promise<Module> {
  return (await import(new URL(file, COMPILED).href)) as Module;
}

function place(file: string): string {
  return fileURLToPath(new URL(file, COMPILED));
}

const { writeScripts } = await load<Prelude>("kernel/tool/runtimes/prelude.js");
const { PRELUDE_PARTS } = await load<Plugins>("standard/plugins.js");
const { writeZones } = await load<Zones>("python/runtime/zones.js");
const { writePage } = await load<Console>("server/console/build-page.js");
const { bundledPackages } = await load<Packages>("kernel/tool/runtimes/bundled-packages.js");

await writeScripts(PRELUDE_PARTS);
await writeZones(place("python/guest"));
await writePage(fileURLToPath(new URL(`../src/${PAGE}`, import.meta.url)), place(PAGE));
await writeFile(place("THIRD_PARTY_LICENSES"), await thirdPartyLicences(bundledPackages()));
