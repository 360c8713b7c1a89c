import { readConfiguration } from "../../src/server/config/configuration.ts";
import { effectiveValues, MACHINE_DEFAULTS } from "../../src/server/config/effective.ts";
import { type Setting, SETTINGS } from "../../src/server/config/names.ts";
import { CONFIG_SCHEMA } from "../../src/server/config/schema.ts";
import type { Part } from "../../src/server/config/schema-parts.ts";
import { type Member, membersOf, readMembers } from "./declarations.ts";
import { code, page, sentence, table } from "./markdown.ts";

/** The types whose doc comments describe the settings below a path. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  "": ["Config", "EngineOptions"],
  agentspace: ["RegistryOptions"],
  calls: ["CallOptions"],
  assets: ["ServedAssets", "AssetOptions"],
  codeMode: ["CodeModeOptions"],
  "codeMode.limits": ["Limits"],
  executor: ["ExecutorOptions"],
  "executor.recycle": ["Recycling"],
  fetch: ["FetchOptions"],
  idempotency: ["IdempotencyOptions"],
  kv: ["KvOptions"],
  limits: ["Limits"],
  logins: ["LoginOptions"],
  maxLimits: ["Limits"],
  oauth: ["OAuthOptions", "KeyGrant"],
  "oauth.introspection": ["IntrospectionOptions"],
  "oauth.limits": ["Limits"],
  "oauth.quota": ["KeyQuota"],
  packages: ["PackageOptions"],
  policy: ["Policy"],
  queue: ["QueueOptions"],
};

/** Lists and maps whose entries have members of their own. */
const ENTRIES: readonly Entries[] = [
  { name: "tools[]", types: ["ToolLocation", "ToolDefinition"], about: "A place of tools: a path, or an object." },
  { name: "keys[]", types: ["KeyGrant"], about: "A key, with exactly one of `hash`, `env` and `file`." },
  { name: "keys[].quota", types: ["KeyQuota"], about: "A key's quota." },
  {
    name: "secrets.*",
    types: ["SecretUse"],
    about: "A secret by its name, with exactly one of `value`, `env` and `file`.",
  },
  { name: "secrets.*.bind[]", types: ["SecretBinding"], about: "Requests that may carry a secret." },
  {
    name: "connectors.*",
    types: ["McpConnector", "OpenApiConnector", "ConnectorSettings"],
    about: "A connector by its name, with exactly one of `mcp` and `openapi`.",
  },
  {
    name: "connectors.*.mcp",
    types: ["McpHttpServer", "McpProcess"],
    about: "An MCP server, with exactly one of `url` and `command`.",
  },
  {
    name: "connectors.*.auth",
    types: [],
    about: "How requests of a connector are authenticated, with exactly one member.",
  },
  { name: "connectors.*.auth.basic", types: [], about: "A user and a password." },
  { name: "connectors.*.auth.bearer", types: [], about: "A token that does not end." },
  { name: "connectors.*.auth.apiKey", types: [], about: "A key in a header, the query or a cookie." },
  { name: "connectors.*.auth.clientCredentials", types: ["OAuthClient"], about: "A client that acts for itself." },
  { name: "connectors.*.auth.refreshToken", types: ["OAuthClient"], about: "A client with a refresh token." },
  {
    name: "connectors.*.auth.authorizationCode",
    types: ["AuthorizationCodeClient", "OAuthClient"],
    about: "A client that somebody logs in, with `glovebox connectors login`.",
  },
  { name: "connectors.*.undo.*", types: ["ToolUndo"], about: "The tool that undoes an operation of a connector." },
  {
    name: "policy.rules[]",
    types: ["PolicyRule"],
    about: "A rule applies to the calls that each of its lists matches.",
  },
];

interface Entries {
  readonly name: string;
  readonly types: readonly string[];
  readonly about: string;
}

/** Members that no type documents. */
const MEANINGS: Readonly<Record<string, string>> = {
  agentspace:
    "AgentSpace's registry of tools: HTTP routes, MCP resources, the console's page and `glovebox agentspace`.",
  assets: "Packages of AgentSpace that clients upload and download.",
  executor: "Where isolates run, and how. A text stands for `executor.kind`.",
  fetch: "How requests of tools find and await their servers.",
  idempotency: "How results of calls with an idempotency key are kept.",
  kv: "Where the `kv` capability keeps its values.",
  machine: "What `glovebox worker` does with this configuration. Servers may share the file.",
  packages: "Where packages of tools may come from, and what they may depend on.",
  queue: "How many calls may wait and run.",
  oauth: "An authorization server whose tokens are accepted besides the keys.",
  "oauth.introspection": "How the authorization server is asked about tokens that are not verified here.",
  "oauth.introspection.url": "Where tokens are sent, to learn what they are worth (RFC 7662).",
  "oauth.introspection.clientId": "The name under which the server asks.",
  "oauth.introspection.clientSecret":
    "Where the secret is with which the server asks: exactly one of `env` and `file`.",
  "oauth.introspection.clientSecret.env": "The environment variable that holds the secret.",
  "oauth.introspection.clientSecret.file": "The file that holds the secret.",
  "oauth.tools": "The tools that callers with tokens may call, see and administer. Default: all.",
  "oauth.limits": "Upper bounds of the limits of their calls.",
  "oauth.quota": "What each of them may use within a time.",
  "oauth.rate": "How fast each of them may call.",
  "oauth.rate.calls": "Calls in each time window.",
  "oauth.rate.perMs": "Length of the window in milliseconds.",
  "policy.rules": "What is allowed to which calls. What no rule allows is denied.",
  "executor.recycle": "When a process makes room for a fresh one. Its calls end first.",
  "executor.recycle.ageMs": "Age of the process in milliseconds.",
  "executor.recycle.calls": "Calls that the process has run.",
  "keys[].hash": "The key's hash, as `glovebox keys new` prints it.",
  "keys[].env": "The environment variable that holds the key.",
  "keys[].file": "The file that holds the key.",
  "keys[].quota": "What the key may use within a time.",
  "secrets.*.value": "The secret itself.",
  "secrets.*.env": "The environment variable that holds the secret.",
  "secrets.*.file": "The file that holds the secret.",
  "secrets.*.bind": "The requests that may carry the secret, and its place in them.",
  "secrets.*.origins":
    "The old form of `bind`: the origins to which requests may carry the secret, in any header. Removed in the next release.",
  "connectors.*.mcp": "An MCP server.",
  "connectors.*.mcp.url": "URL of a server of Streamable HTTP.",
  "connectors.*.mcp.headers": "Headers of all requests to the server; values may contain `{secret:NAME}`.",
  "connectors.*.mcp.command": "Program of a server that is a process.",
  "connectors.*.mcp.args": "Arguments of the program.",
  "connectors.*.openapi":
    "An OpenAPI document: its path `document`, and `server`, a URL in place of the document's first.",
  "connectors.*.headers": "Headers of all requests to the server; values may contain `{secret:NAME}`.",
  "connectors.*.query": "Parameters of the query of all requests to the server; values may contain `{secret:NAME}`.",
  "connectors.*.auth":
    "How requests are authenticated: `basic`, `bearer`, `apiKey`, `clientCredentials`, `refreshToken` or `authorizationCode`.",
  "connectors.*.auth.basic": "A user and a password.",
  "connectors.*.auth.bearer": "A token that does not end.",
  "connectors.*.auth.apiKey": "A key in a header, the query or a cookie.",
  "connectors.*.auth.clientCredentials": "A client of an authorization server that acts for itself.",
  "connectors.*.auth.refreshToken": "A client of an authorization server with a refresh token.",
  "connectors.*.auth.authorizationCode": "A client of an authorization server that somebody logs in.",
  "connectors.*.auth.basic.user": "The user; may be `{secret:NAME}`.",
  "connectors.*.auth.basic.password": "The password: `{secret:NAME}`.",
  "connectors.*.auth.bearer.token": "The token: `{secret:NAME}`.",
  "connectors.*.auth.apiKey.in": "Where the key is: `header`, `query` or `cookie`.",
  "connectors.*.auth.apiKey.name": "Name of the header, the parameter or the cookie.",
  "connectors.*.auth.apiKey.value": "The key: `{secret:NAME}`.",
  "connectors.*.auth.refreshToken.token": "The first refresh token: `{secret:NAME}`. Later ones are stored.",
  "connectors.*.undo.*.tool": "Name of the tool, such as `crm.delete_item`.",
  "connectors.*.undo.*.arguments":
    "Its arguments by name, each a JSON pointer into the call that is undone: `/input/owner`, `/output/number`.",
  logins: "Where the logins of connectors with an `auth` of OAuth are kept, sealed.",
  "policy.rules[].tools": "Names of tools; each may end in `*`. Default: all.",
  "policy.rules[].tags": "Tags of tools. Default: all.",
  "policy.rules[].tenants": "Names of tenants. Default: all.",
  "policy.rules[].allow": "Capabilities and their bounds.",
  "tools[].isolation": "How much of the isolate is new for each call: `instance`, `context`, `isolate` or `shared`.",
  "tools[].limits": "Limits of these tools.",
  "tools[].capabilities": "Capabilities that these tools ask for.",
  "tools[].tags": "Tags of these tools. The modules' own tags are ignored.",
  "tools[].config": "What these tools get as `config`.",
};

/** Defaults that depend on the machine. */
const DEPENDENT: Readonly<Record<string, string>> = {
  workers: "processors, at most 4, and one more",
  "machine.slots": `${MACHINE_DEFAULTS.slotsPerWorker} for each of \`workers\``,
};

export async function configPage(): Promise<string> {
  const defaults = await readDefaults();
  const rows = SETTINGS.map((setting) => settingRow(setting, defaults));
  return page("Configuration", [
    "`glovebox.config.yaml` (or `.yml`, `.json`) in the working directory, or `--config FILE`. Paths in it start from its folder. A flag goes before an environment variable, and that before the file. `glovebox config print` shows the values in force and their sources, `glovebox config check` finds mistakes.",
    "An editor checks the file with the schema [config.schema.json](config.schema.json).",
    "## Settings",
    table(["setting", "type", "default", "what it does", "environment variable"], rows),
    "Environment variables hold numbers and texts as they are, lists with commas or as JSON, objects as JSON. `GLOVEBOX_CONFIG` names the file, `GLOVEBOX_KEY` holds a single administrator's key, `GLOVEBOX_FLEET_SECRET` the fleet's secret, `GLOVEBOX_CALLS_SECRET` that of `calls.secret`.",
    ...ENTRIES.flatMap(describeEntries),
  ]);
}

/** The schema of the configuration, for editors. An executor may be its kind alone. */
export function configSchema(): string {
  const { executor, ...properties } = CONFIG_SCHEMA.properties ?? {};
  const either = { anyOf: [executor?.properties?.["kind"], executor] };
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Glovebox configuration",
    ...CONFIG_SCHEMA,
    properties: { ...properties, executor: either },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

async function readDefaults(): Promise<ReadonlyMap<string, string>> {
  const values = effectiveValues(await readConfiguration(undefined));
  const here = `${process.cwd()}/`;
  return new Map(values.map(({ setting, value }) => [setting, code(String(value).replace(here, ""))] as const));
}

function settingRow({ path, variable, part }: Setting, defaults: ReadonlyMap<string, string>): readonly string[] {
  const name = path.join(".");
  const { meaning, standard } = describe(name, part, documented(name));
  const value = DEPENDENT[name] ?? defaults.get(name) ?? standard;
  return [code(name), typeOf(part), value, meaning, code(variable)];
}

function describeEntries({ name, types, about }: Entries): readonly string[] {
  const entries = Object.entries(partAt(name).properties ?? {});
  const members = types.flatMap(membersOf);
  const rows = entries.map(([member, part]) => {
    const { meaning, standard } = describe(
      `${name}.${member}`,
      part,
      members.find((one) => one.name === member),
    );
    return [code(member), typeOf(part), standard, meaning];
  });
  return [`## ${code(name)}`, about, table(["member", "type", "default", "what it does"], rows)];
}

/** The part of the schema that a name such as `keys[].quota` or `secrets.*` means. */
function partAt(name: string): Part {
  return name.split(".").reduce<Part>((part, step) => {
    if (step === "*") return part["additionalProperties"] as Part;
    const found = part.properties?.[step.replace("[]", "")];
    if (found === undefined) throw new Error(`the configuration's schema has no ${name}`);
    if (!step.endsWith("[]")) return found;
    const items = found["items"] as Part & { readonly anyOf?: readonly Part[] };
    return items.anyOf?.find(({ properties }) => properties !== undefined) ?? items;
  }, CONFIG_SCHEMA);
}

/** The documented member of a setting's type. */
function documented(name: string): Member | undefined {
  const [around, last] = [name.split(".").slice(0, -1).join("."), name.split(".").at(-1)];
  if (around === "machine") {
    const machine = membersOf("Config").find((one) => one.name === "machine");
    return readMembers(machine?.type ?? "").find((one) => one.name === last);
  }
  return (TYPES[around] ?? []).flatMap(membersOf).find((one) => one.name === last && one.doc !== "");
}

/** What a setting does, and its default where its documentation names one. */
function describe(name: string, part: Part, member: Member | undefined) {
  const documentation = MEANINGS[name] ?? member?.doc ?? "";
  const doc = part.description ?? documentation;
  // A sentence ends at a dot before a space, not at that of a file's name.
  const [, standard = ""] = /(?:^|\. |: )[Dd]efault:? (.+?)(?:\.(?=\s|$)|$)/s.exec(documentation) ?? [];
  const meaning = doc.replace(/(?<=^|\. |: )[Dd]efault:? .+?(?:\.(?=\s|$)|$)/s, "").replace(/: *$/, ".");
  if (meaning.trim() === "") throw new Error(`docs/generate/config.ts has no text for the setting ${name}`);
  return { meaning: sentence(meaning), standard: standard.trim() };
}

function typeOf({ type, enum: choices, ...part }: Part): string {
  if (choices !== undefined) return choices.map((choice) => code(String(choice))).join(", ");
  if (Array.isArray(type)) return type.join(" or ");
  if (type === undefined) return part["anyOf"] === undefined ? "any" : "text or object";
  return type === "array" ? "list" : type === "string" ? "text" : type;
}
