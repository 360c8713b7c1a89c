/**
 * `npm run sbom`: what the package consists of and brings along, in CycloneDX, from the lock file alone. The same commit
 * gives the same file, so it has neither the number nor the time that npm gives it: both are optional.
 *
 * `npm sbom --omit dev` would leave out whatever some package has among its development dependencies, such as ajv.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };
import { lockedOf } from "./locked.ts";
import { BUNDLED } from "./third-party.ts";

const COMMAND = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
const DEVELOPMENT = "cdx:npm:package:development";
const LOCK_BYTES_MAX = 64 * 1024 * 1024;

interface Component {
  readonly "bom-ref": string;
  readonly properties: readonly { readonly name: string }[];
}

interface Sbom {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const bundled = new Set(Object.keys(BUNDLED).map((name) => `${name}@${lockedOf(name).version}`));

function isPublished({ "bom-ref": ref, properties }: Component): boolean {
  return bundled.has(ref) || properties.every(({ name }) => name !== DEVELOPMENT);
}

const text = execFileSync("npm", COMMAND, {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  encoding: "utf8",
  maxBuffer: LOCK_BYTES_MAX,
});
const { serialNumber: _number, metadata, components, dependencies, ...rest } = JSON.parse(text) as Sbom;
const { timestamp: _time, component, ...about } = metadata;
const kept = components.filter(isPublished);
const refs = new Set([component["bom-ref"], ...kept.map((one) => one["bom-ref"])]);
const sbom = {
  ...rest,
  // npm names it after its folder.
  metadata: { ...about, component: { ...component, name: manifest.name } },
  components: kept.map((one) => ({ ...one, properties: one.properties.filter(({ name }) => name !== DEVELOPMENT) })),
  dependencies: dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
};
const [, , file = `${manifest.name}-${manifest.version}.cdx.json`] = process.argv;
writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
