import manifest from "../../package.json" with { type: "json" };
import { LOCKED, type Locked, lockedOf } from "../../build/locked.ts";
import { BUNDLED } from "../../build/third-party.ts";
import { code, page, sentence, table } from "./markdown.ts";

/** What the package uses its dependencies for. */
const USES: Readonly<Record<keyof typeof manifest.dependencies, string>> = {
  "@fastify/multipart": "uploads of tools",
  "@modelcontextprotocol/server": "MCP servers",
  "@opentelemetry/api": "traces",
  "@renovatebot/pep440": "versions of Python packages",
  "@standard-schema/spec": "types of schemas",
  acorn: "the syntax of tools and of programs",
  ajv: "checks of arguments, outputs and settings",
  "ajv-formats": "checks of arguments, outputs and settings",
  commander: "the command line",
  diff: "comparisons of text",
  esbuild: "bundles of tools",
  fastify: "the HTTP server",
  "ipaddr.js": "addresses that tools may not reach",
  "isolated-vm": "isolates",
  minisearch: "search for tools",
  "modern-tar": "archives of tools",
  oauth4webapi: "logins of connectors",
  "p-queue": "work that goes in turn, and so much of it at once",
  pino: "the log",
  piscina: "worker threads",
  "prom-client": "metrics",
  "rate-limiter-flexible": "rate limits",
  "smol-toml": "lists of Python packages",
  undici: "requests of tools",
  "web-streams-polyfill": "streams in isolates",
  yaml: "configuration",
  yauzl: "archives of tools",
};
const TITLES = ["package", "version", "licence", "what for"];
/** Packages of which npm installs the one for the machine. */
const BUILD_OF = /^(@esbuild\/|@napi-rs\/nice-)/;

const installed = [...LOCKED.values()].filter(({ dev }) => dev === undefined);

export function licencesPage(): string {
  const rows = rowsOf(installed, whyOf);
  const counts = Object.entries(Object.groupBy(rows, ([, , licence = ""]) => licence)).map(
    ([name, all = []]) => `${all.length} under ${name}`,
  );
  const bundled = Object.keys(BUNDLED).map(lockedOf);
  const peers = Object.keys(manifest.peerDependencies).map(lockedOf);
  return page("Licences", [
    `What comes with Glovebox, which is under ${manifest.license}. \`npm run sbom\` in the repository writes what is installed with the package and what is within it as a file in CycloneDX.`,
    "## Installed with the package",
    `${counts.toSorted().join(", ")}.`,
    table(TITLES, rows),
    "## Within the package",
    "Code of these packages stands in `dist`; `dist/THIRD_PARTY_LICENSES` has the texts of their licences. `dist/python/guest/zones.bin` is the time zone database of IANA, which is in the public domain.",
    table(
      TITLES,
      rowsOf(bundled, ({ name }) => sentence(BUNDLED[name] ?? "")),
    ),
    "## Optional",
    "The package can use them, and does not bring them: whoever installs one has its licence. The versions are those of the tests.",
    table(
      TITLES,
      rowsOf(peers, () => ""),
    ),
  ]);
}

function rowsOf(packages: readonly Locked[], why: (one: Locked) => string): readonly (readonly string[])[] {
  const rows = new Map<string, readonly string[]>();
  for (const one of packages) {
    const [family = one.name] = BUILD_OF.exec(one.name) ?? [];
    const name = family === one.name ? code(family) : `${code(`${family}*`)}, the one for the machine`;
    rows.set(`${family} ${one.version}`, [name, one.version, one.license, why(one)]);
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

function whyOf({ name }: Locked): string {
  if (name in USES) return sentence(USES[name as keyof typeof USES]);
  const users = installed.filter((one) => name in { ...one.dependencies, ...one.optionalDependencies });
  return `For ${[...new Set(users.map((user) => code(user.name)))].join(", ")}.`;
}
