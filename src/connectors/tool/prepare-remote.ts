import type { ConnectorFinding } from "../../kernel/base/connector-report.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { isObject, type JsonSchema } from "../../kernel/base/json.ts";
import type { ToolChecks } from "../../kernel/base/protocol/script.ts";
import type { ModuleWork } from "../../kernel/tool/build/job.ts";
import { compileChecks } from "../../kernel/base/schema/checks.ts";
import { writeSchema } from "../../kernel/base/schema/schema-text.ts";
import type { SuggestedAuth } from "./openapi/security.ts";
import { readOpenApi } from "./openapi/read-openapi.ts";
import { type CompiledSchema, compileLoosened, loosenSchema, withoutDefaults } from "./loosen.ts";
import { cleanTools, type DigestedTool, digestOfAll, matcherOf, type RemoteTools } from "./remote-tool.ts";

/** The tools of another server, to be read in a build process. The job's only text is the document or the list. */
export interface ConnectorJob {
  readonly of: "openapi" | "mcp";
  readonly connector: string;
  /** URL of the server; `null` for the document's own. */
  readonly server: string | null;
  /** URL of the document; `null` for a file and for a list. */
  readonly location: string | null;
  /** Names of headers and of parts of the query that the connector sends with each request. */
  readonly headers: readonly string[];
  readonly query: readonly string[];
  /** Whether outputs have chosen headers of the answers. */
  readonly hasHeaders: boolean;
  /** Whether files among arguments may be paths of mounts. */
  readonly takesPaths: boolean;
  readonly tools: readonly string[] | null;
  readonly hasDescriptions: boolean;
  /** See `CleanOptions`. */
  readonly names: readonly (readonly [own: string, name: string])[];
}

/** A tool with the code that checks its arguments and output: one line of the job's answer, as JSON. */
export interface PreparedLine extends DigestedTool {
  readonly checks: ToolChecks;
}

/** The head of the job's answer. */
export interface ConnectorReading {
  readonly server: string | null;
  readonly digest: string;
  readonly findings: readonly ConnectorFinding[];
  /** The document's security schemes in the form of an `auth`. */
  readonly auths: readonly SuggestedAuth[];
}

const TOOLS_MAX = 2_500;
/** Maximum length of one tool's line, in UTF-16 units: it is parsed in one piece. */
const LINE_MAX = 512 * 1024;
/** Of all lines. */
const LINES_MAX = 24 * 1024 * 1024;
const FINDINGS_MAX = 500;

/** For build processes, which import this module. */
export const work: ModuleWork = (data, [text = ""]) => prepareRemote(data as ConnectorJob, text);

/** Reads a server's description of its tools. Throws a `GloveboxError` if no part of it can be read. */
export function prepareRemote(
  job: ConnectorJob,
  text: string,
): { readonly value: ConnectorReading; readonly texts: readonly string[] } {
  const { server, auths, ...read } = readSource(job, text);
  const { tools, findings } = cleanTools(read, job);
  const found: ConnectorFinding[] = [...findings];
  const lines: string[] = [];
  const kept: DigestedTool[] = [];
  let length = 0;
  for (const digested of tools) {
    const { name } = digested.tool;
    try {
      if (lines.length >= TOOLS_MAX) throw new GloveboxError("load_error", `a connector may have ${TOOLS_MAX} tools`);
      const { prepared, reasons } = prepareTool(digested);
      for (const reason of reasons) found.push({ tool: name, reason });
      const line = JSON.stringify(prepared satisfies PreparedLine);
      length += line.length;
      if (line.length > LINE_MAX)
        throw new GloveboxError("load_error", `its schemas are longer than ${LINE_MAX} characters`);
      if (length > LINES_MAX)
        throw new GloveboxError("load_error", `the connector's tools are longer than ${LINES_MAX} characters`);
      lines.push(line);
      kept.push(digested);
    } catch (error) {
      found.push({ tool: name, reason: reasonOf(error) });
    }
  }
  const digest = digestOfAll(kept, job.server === null ? (server ?? "") : "");
  return { value: { server, digest, findings: shortened(found), auths }, texts: [lines.join("\n")] };
}

function readSource(
  job: ConnectorJob,
  text: string,
): RemoteTools & Pick<ConnectorReading, "auths"> & { readonly server: string | null } {
  const { connector, server, location } = job;
  if (job.of === "openapi") {
    const isWanted = matcherOf(job.tools);
    return readOpenApi(text, {
      connector,
      isWanted,
      headers: job.headers,
      query: job.query,
      hasHeaders: job.hasHeaders,
      takesPaths: job.takesPaths,
      ...(server === null ? {} : { server }),
      ...(location === null ? {} : { location }),
    });
  }
  const { tools, findings } = parseForWriting(text) as RemoteTools;
  return { server, tools, findings, auths: [] };
}

/**
 * A tool with its checks, and the removed parts of its schemas: the server checks its arguments itself, and an answer
 * that contradicts its declaration is no reason to lose the result of a call.
 */
function prepareTool(digested: DigestedTool): { readonly prepared: PreparedLine; readonly reasons: readonly string[] } {
  const { tool } = digested;
  const { inputSchema, outputSchema, operation } = tool;
  // The limits that hold for schemas of any tool.
  writeSchema(inputSchema, "inputSchema");
  if (outputSchema !== undefined) writeSchema(outputSchema, "outputSchema");
  const compileInput = (schema: JsonSchema) => compileChecks(withoutDefaults(schema), null);
  if (operation.kind === "openapi") {
    // Documents describe answers carelessly, and at length.
    const { code: checks, findings } = compileLoosened(
      { schema: inputSchema, findings: [] },
      compileInput,
      namesOf(inputSchema),
    );
    return { prepared: { ...digested, checks }, reasons: findings.map((finding) => `inputSchema ${finding}`) };
  }
  const input = compileLoosened(loosenSchema(inputSchema), compileInput, { type: "object" });
  const output = outputSchema === undefined ? null : usableOutput(outputSchema);
  const { outputSchema: _declared, ...rest } = tool;
  const usable = {
    ...rest,
    inputSchema: input.schema,
    ...(output?.code === "" ? {} : output && { outputSchema: output.schema }),
  };
  const checks = { ...input.code, ...(output === null ? {} : { output: output.code, isAdvice: true as const }) };
  const reasons = [
    ...input.findings.map((finding) => `inputSchema ${finding}`),
    ...(output?.findings ?? []).map((finding) => `outputSchema ${finding}`),
  ];
  return { prepared: { ...digested, tool: usable, checks }, reasons };
}

/** Names of arguments, and the required ones, without schemas of their values. */
function namesOf(schema: JsonSchema): JsonSchema {
  if (!isObject(schema) || !isObject(schema["properties"])) return { type: "object" };
  const properties = Object.fromEntries(Object.keys(schema["properties"]).map((name) => [name, true]));
  return { ...schema, properties };
}

function usableOutput(schema: JsonSchema): CompiledSchema<string> {
  return compileLoosened(loosenSchema(schema), (one) => compileChecks(true, one).output, true);
}

function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : "it cannot be read").slice(0, 500);
}

function shortened(findings: readonly ConnectorFinding[]): readonly ConnectorFinding[] {
  if (findings.length <= FINDINGS_MAX) return findings;
  const more = findings.length - FINDINGS_MAX;
  return [...findings.slice(0, FINDINGS_MAX), { tool: null, reason: `${more} more findings` }];
}
