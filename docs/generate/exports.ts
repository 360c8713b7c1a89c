import manifest from "../../package.json" with { type: "json" };
import { code, page, table } from "./markdown.ts";

const ENTRIES: Readonly<Record<string, string>> = {
  ".": "The engine: tools, calls, policy, capabilities, recordings.",
  "./adapters": "Tools of an engine in the forms of agents' libraries.",
  "./client": "A client of a server, for browsers and other runtimes. It imports no other package.",
  "./tool": "What a tool's module imports: `defineTool` and its types. It loads nothing else.",
  "./contracts": "Contracts of tools and models, and the functions that translate between them.",
  "./server": "The HTTP server around an engine.",
  "./handlers": "The routes of the HTTP server as handlers for Express, `node:http`, Hono, Next and others.",
  "./fastify": "The routes of the HTTP server as a plugin for Fastify.",
  "./mcp": "A server of the Model Context Protocol around an engine.",
  "./testing": "What authors test tools with: conformance, faults, mocks.",
  "./connectors": "Connectors: the types of their options, and `checkConnectors`.",
  "./code-mode": "Code mode: `run_code` and `search_tools` in place of all tools.",
  "./amplifier": "Amplifier: mount plans, hooks, tool results.",
  "./agentspace": "AgentSpace: a registry of packages, search, man pages, forms.",
  "./strands": "Strands: discovery, the capability checker, workflows.",
  "./xaibo": "Xaibo: tool providers, the function-calling loop.",
};

/** What each package that not everybody needs is for. */
const OPTIONAL: Readonly<Record<string, string>> = {
  "@langchain/core": "`toolsForLangChain`.",
  "@fastify/multipart": "Uploads of AgentSpace packages.",
  "@modelcontextprotocol/client": "Connectors to MCP servers.",
  "@modelcontextprotocol/server": "MCP: `glovebox/mcp`, `glovebox mcp`, `/mcp`.",
  "@opentelemetry/api": "Traces.",
  aws4fetch: "Code of a fleet's tools in an S3 bucket.",
  bullmq: "Fleets.",
  ioredis: "Fleets, and `kv` and idempotency in Redis.",
  jose: "`oauth.jwksUri`: tokens of an authorization server.",
  liquidjs: "Templates in Strands workflows.",
  pyodide: "Tools in Python.",
  typescript: "Checks of programs in code mode.",
};

interface Manifest {
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const MANIFEST: Manifest = manifest as object as Manifest;

export async function exportsPage(): Promise<string> {
  const { engines, exports, peerDependencies = {} } = MANIFEST;
  const entries = Object.keys(exports).filter((entry) => entry in ENTRIES);
  const unknown = Object.keys(exports).filter((entry) => !(entry in ENTRIES) && entry !== "./package.json");
  if (unknown.length > 0) throw new Error(`docs/generate/exports.ts has no text for ${unknown.join(", ")}`);
  const values = await Promise.all(entries.map(valuesOf));
  const rows = entries.map((entry, at) => [
    code(entry.replace(".", "glovebox")),
    ENTRIES[entry] ?? "",
    (values[at] ?? []).map(code).join(", "),
  ]);
  const optional = Object.entries(peerDependencies).map(optionalRow);
  return page("Package entries and peers", [
    `Glovebox is ESM only and needs Node ${engines.node.replace(">=", "")} or later. Anything that no entry exports may change in any version.`,
    table(["entry", "what it has", "values"], rows),
    "## Optional packages",
    "These are optional peers: install those that you need. Glovebox loads them when a program first needs them; where one is missing, the error names the command that installs it.",
    table(["package", "version", "needed for"], optional),
  ]);
}

async function valuesOf(entry: string): Promise<readonly string[]> {
  const target = MANIFEST.exports[entry];
  if (typeof target === "string" || target === undefined) return [];
  const source = target.default.replace("./dist/", "../../src/").replace(/js$/, "ts");
  return Object.keys((await import(source)) as object).toSorted();
}

function optionalRow([name, range]: readonly [string, string]): readonly string[] {
  const use = OPTIONAL[name];
  if (use === undefined) throw new Error(`docs/generate/exports.ts has no text for the package ${name}`);
  return [code(name), code(range), use];
}
