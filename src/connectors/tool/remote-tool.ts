import type { ConnectorFinding } from "../../kernel/base/connector-report.ts";
import { hash } from "node:crypto";
import type { Operation } from "../../kernel/guest/host.ts";
import { INVISIBLE, isObject, type JsonSchema } from "../../kernel/base/json.ts";
import type { ToolAnnotations } from "../../kernel/tool/contracts/contract.ts";
import { isLongInteger } from "./openapi/keywords.ts";

/** A tool of another server, as that server describes it. */
export interface RemoteTool {
  /** Without the connector's name, and as the server writes it: `cleanTools` makes it a name here. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  readonly operation: Operation;
}

/** The tools of a connector, and the parts that could not become a tool. */
export interface RemoteTools {
  readonly tools: readonly RemoteTool[];
  readonly findings: readonly ConnectorFinding[];
}

/** A tool with the digest of its server's description, before any part was cut. */
export interface DigestedTool {
  readonly tool: RemoteTool;
  readonly digest: string;
}

/** Differences of two lists of a connector's tools: names, sorted. */
export interface ToolsDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

const TOOL_DESCRIPTION_MAX = 400;
const PROPERTY_DESCRIPTION_MAX = 200;
const NAME_SHOWN_MAX = 128;
const CUT = "…";
const DIGITS = 6;
/** Members of a schema that contain data, without descriptions. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "example", "examples"]);

export interface CleanOptions {
  readonly connector: string;
  /** Patterns of the names to keep; `null` for all. */
  readonly tools: readonly string[] | null;
  readonly hasDescriptions: boolean;
  /** Previous names of the server's tools, by their own names: a new tool gets none of them. */
  readonly names: readonly (readonly [own: string, name: string])[];
}

/**
 * Makes a server's tools suitable for the registry: names of permitted characters, short descriptions without invisible
 * characters. If tools would share a name, six digits of a tool's digest follow the name of each later one.
 */
export function cleanTools(
  { tools, findings }: RemoteTools,
  { connector, tools: patterns, hasDescriptions, names }: CleanOptions,
): { readonly tools: readonly DigestedTool[]; readonly findings: readonly ConnectorFinding[] } {
  const found: ConnectorFinding[] = findings.map(({ tool, reason }) => {
    return { tool: tool === null ? null : shown(tool), reason: shown(reason, 500) };
  });
  const isWanted = matcherOf(patterns);
  const earlier = new Map(names);
  const byName = Map.groupBy(tools, ({ name }) => cleanName(name));
  const cleaned = [...byName].flatMap(([name, same]) => {
    const [tool] = same;
    if (tool === undefined || !isWanted(name)) return [];
    const full = `${connector}.${name}`;
    if (name === "" || full.length > NAME_SHOWN_MAX) {
      found.push({ tool: shown(tool.name), reason: `its name is longer than ${NAME_SHOWN_MAX} characters, or empty` });
      return [];
    }
    // The previous holder of the name keeps it, else the first tool gets it.
    const holder = same.find((one) => earlier.get(one.name) === full) ?? tool;
    return same.map((one) => {
      const own = one === holder ? full : `${full.slice(0, NAME_SHOWN_MAX - DIGITS - 1)}_${digitsOf(one.name)}`;
      if (one !== holder)
        found.push({
          tool: own,
          reason: `${full} is the name of an earlier tool: ${JSON.stringify(shown(holder.name))}`,
        });
      return { tool: cleanTool(one, own, hasDescriptions), digest: digestOf(one, name) };
    });
  });
  return { tools: cleaned, findings: found };
}

/** Digest of all tools, for pins. `server`: the URL that their document chose; empty if the operator chose it. */
export function digestOfAll(tools: readonly Pick<DigestedTool, "digest">[], server: string): string {
  const digests = tools.map(({ digest }) => digest).toSorted();
  return `sha256:${hash("sha256", [server, ...digests].join("\n"))}`;
}

/** Compares the digests of two lists, by name. */
export function differenceOf(old: ReadonlyMap<string, string>, current: ReadonlyMap<string, string>): ToolsDifference {
  return {
    added: [...current.keys()].filter((name) => !old.has(name)).toSorted(),
    removed: [...old.keys()].filter((name) => !current.has(name)).toSorted(),
    changed: [...current]
      .flatMap(([name, digest]) => (old.has(name) && old.get(name) !== digest ? [name] : []))
      .toSorted(),
  };
}

function cleanName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, NAME_SHOWN_MAX + 1);
}

/** The digits behind a name that an earlier tool has. */
export function digitsOf(name: string): string {
  return hash("sha256", name).slice(0, DIGITS);
}

function cleanTool(tool: RemoteTool, name: string, hasDescriptions: boolean): RemoteTool {
  const { description, inputSchema, outputSchema, annotations } = tool;
  const { title, ...promises } = annotations;
  const about = hasDescriptions ? cleanText(description, TOOL_DESCRIPTION_MAX) : "";
  const shownTitle = hasDescriptions && title !== undefined ? cleanText(title, PROPERTY_DESCRIPTION_MAX) : "";
  return {
    ...tool,
    name,
    description: about === "" ? `The operation ${name}.` : about,
    inputSchema: cleanSchema(inputSchema, hasDescriptions),
    ...(outputSchema === undefined ? {} : { outputSchema: cleanSchema(outputSchema, hasDescriptions) }),
    annotations: shownTitle === "" ? promises : { title: shownTitle, ...promises },
  };
}

/** A copy whose descriptions are cut, or left out. The schema has passed JSON, so it is a tree. */
function cleanSchema(schema: JsonSchema, hasDescriptions: boolean): JsonSchema {
  // A long integer is an object, which a copy would destroy.
  if (!isObject(schema) || isLongInteger(schema)) return schema;
  const parts = Object.entries(schema).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
    if (DATA.has(key)) return [[key, value]];
    if (typeof value !== "string") return [[key, cleanPart(value, hasDescriptions)]];
    if (key === "description" || key === "title" || key === "$comment") {
      return hasDescriptions ? [[key, cleanText(value, PROPERTY_DESCRIPTION_MAX)]] : [];
    }
    return [[key, value]];
  });
  return Object.fromEntries(parts);
}

function cleanPart(value: unknown, hasDescriptions: boolean): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => cleanPart(each, hasDescriptions));
  return isObject(value) ? cleanSchema(value, hasDescriptions) : value;
}

/** A text on lines without invisible characters, cut at a maximum. */
function cleanText(text: string, max: number): string {
  const lines = text.slice(0, 4 * max).split(/\r\n|[\n\r\u2028\u2029]/);
  const clean = lines.map((line) => line.replaceAll(INVISIBLE, " ").replaceAll(/\s+/g, " ").trim());
  const joined = clean.join("\n").trim();
  return joined.length > max ? `${joined.slice(0, max - 1).toWellFormed()}${CUT}` : joined;
}

function shown(text: string, max = NAME_SHOWN_MAX): string {
  return text.slice(0, max).replaceAll(INVISIBLE, " ");
}

function digestOf(
  { description, inputSchema, outputSchema, annotations, operation }: RemoteTool,
  name: string,
): string {
  const parts = [name, description, inputSchema, outputSchema ?? null, annotations, operation];
  return hash("sha256", JSON.stringify(parts));
}

/** Whether a connector uses the tool with this name at its server. */
export function matcherOf(patterns: readonly string[] | null): (name: string) => boolean {
  const matches = patterns?.map(patternOf) ?? null;
  return (name) => matches === null || matches.some((pattern) => pattern.test(cleanName(name)));
}

/** An untrusted text on one line, without invisible characters, and cut. */
export function shortText(text: string, max: number): string {
  return cleanText(text.slice(0, 2 * max).replaceAll(/\s+/g, " "), max);
}

/** `*_issue*` as an expression without backtracking over more than one star at a time. */
function patternOf(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*?")}$`, "s");
}
