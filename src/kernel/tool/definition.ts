import type { CapabilityRequest } from "../broker/capabilities/capability.ts";
import type { NodeName } from "./bundle/used-names.ts";
import type { ToolAnnotations } from "./contracts/contract.ts";
import type { SchemaRewrite } from "./contracts/mcp-schema.ts";
import { writeAny } from "../base/json-writer.ts";
import { loadError } from "../base/errors.ts";
import type { JsonSchema, JsonValue } from "../base/json.ts";
import { DEFAULT_LIMITS, type Limits, MAX_LIMITS, resolveLimits } from "../base/limits.ts";
import { type Isolation, type ModuleContractName, type Runtime, PLUGGED_NAME } from "../base/protocol/script.ts";
import type { Schema } from "../base/schema/standard-schema.ts";
import { compileSchema, type Validator } from "../base/schema/schema.ts";
import { describeViolations } from "../base/schema/violation.ts";

/** A tool's definition, as the caller of `register` gives it. */
export interface ToolDefinition {
  /** 1 to 128 of `A-Z a-z 0-9 _ . -`. */
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly tags?: readonly string[];
  /**
   * A JSON Schema, or a schema of a library that does no more than its JSON Schema: one with a `refine` is refused, and
   * belongs into a module of `defineTool`.
   */
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  /** The module's text; its default export is `(input, context) => output | Promise<output>`. */
  readonly source?: string;
  /** The module's file, instead of `source`. */
  readonly entry?: string;
  readonly runtime?: "javascript" | "python" | "wasi" | "native" | (string & {});
  readonly isolation?: Isolation;
  readonly limits?: Partial<Limits>;
  readonly capabilities?: CapabilityRequest;
  readonly config?: JsonValue;
  /** Maximum number of retries of a failed call. Default 0, at most 5. */
  readonly retries?: number;
  /**
   * Failures that `retries` covers: `lost` (the default) only those without fault, `failure` the tool's own as well,
   * unless the call has had effects without declaring that they may be repeated.
   */
  readonly retryOn?: RetryOn;
  readonly annotations?: ToolAnnotations;
  /** Whether a person has to approve each call before it runs, or each whose arguments match a schema. Default: no. */
  readonly approval?: ToolApproval;
  /** The tool that undoes a call of this one. A JavaScript module may export a function `undo` instead. Default: none. */
  readonly undo?: ToolUndo;
  /**
   * Maximum characters of a text output: a longer one is cut and marked in its last line and in
   * `metadata.truncated.output`. Default: no cut; a call whose output exceeds `limits.outputBytes` fails.
   */
  readonly outputChars?: number;
  /**
   * The argument that sets the maximum seconds of a call: its CPU time ends there, its wall-clock time slightly later,
   * so that the tool can still report its outcome. Default: none.
   */
  readonly timeoutArgument?: string;
  /** Code of this process is no tool: a module with a `run` is registered by its path. */
  readonly run?: never;
  readonly examples?: readonly ToolExample[];
}

export type RetryOn = "lost" | "failure";

/** `when`: JSON Schema of the arguments. `message`: the text for the person, at most 1,000 characters. */
export type ToolApproval = "always" | { readonly when: JsonSchema; readonly message?: string };

/**
 * How calls of a tool are undone: by a call of another one. `arguments`: its arguments by name, each a JSON pointer
 * into the undone call, as `/input/owner` or `/output/number`.
 */
export interface ToolUndo {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** A call of a tool, for models and for tests. */
export interface ToolExample {
  readonly name?: string;
  readonly input: unknown;
  readonly output?: unknown;
  /** The code of the error with which it ends. */
  readonly error?: string;
}

/** A definition that was checked. Its schemas are JSON Schemas. */
export interface CheckedDefinition extends Omit<ToolDefinition, "inputSchema" | "outputSchema"> {
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
}

/** A module or a package on disk, and settings that override its own. */
export interface ToolLocation extends Pick<
  ToolDefinition,
  "isolation" | "limits" | "capabilities" | "tags" | "config"
> {
  /** A module, a package, an archive, the URL of an archive, or a folder of any of these. */
  readonly path: string;
  /** The contract in which its modules must be written. Default: any. */
  readonly contract?: ModuleContractName;
  /** The names that its tools may have; a module with another name is refused. Default: any. */
  readonly names?: readonly string[];
  /** The registration record of an AgentSpace package, instead of the one in the package. */
  readonly record?: unknown;
}

/** A registered tool, as the engine describes it. */
export interface ToolInfo<Name extends string = string> {
  readonly name: Name;
  readonly description: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  /** JSON Schema made of one output of a snippet: for models, and no output is checked by it. Absent without one. */
  readonly inferredOutputSchema?: JsonSchema;
  readonly runtime: Runtime;
  /** The contract in which its module is written. */
  readonly contract: ModuleContractName;
  readonly annotations: ToolAnnotations;
  /** Whether a person has to approve its calls. */
  readonly approval?: ToolApproval;
  /** The tool that undoes a call of it; `function`: its module has a function for it. */
  readonly undo?: ToolUndo | "function";
  readonly retries: number;
  /** The level in force; `isolationReason` explains a difference from the requested one. */
  readonly isolation: Isolation;
  readonly isolationReason?: string;
  readonly limits: Limits;
  readonly capabilities: CapabilityRequest;
  /**
   * Size of the script that each call evaluates, in bytes, and the time its module takes to evaluate, in milliseconds.
   * `describe`: the same for the whole module, if calls evaluate only a part of it.
   */
  readonly script: ScriptSize & { readonly describe?: ScriptSize };
  /**
   * The place where its schemas are applied: `host`, before its module is evaluated, if they are JSON Schemas or do no
   * more; `isolate`, if its own schemas parse the arguments and the output, because of `parsesReason`.
   */
  readonly parses: "host" | "isolate";
  readonly parsesReason?: string;
  /** The reason why each call evaluates the whole module of `defineTool`, with its schema library. */
  readonly wholeReason?: string;
  /**
   * Node's names that its bundle uses, with the replacement (`instead`) for those that refuse their use: at most 200.
   * Absent if it uses none.
   */
  readonly node?: readonly NodeName[];
  /**
   * Places at which clients of the Model Context Protocol get other schemas than these, because some of them could not
   * read these. The checks of arguments and output are the same. Absent if none exist; at most 20 places.
   */
  readonly mcpRewrites?: readonly SchemaRewrite[];
  readonly examples?: readonly ToolExample[];
  /**
   * Its registrant: `operator` for the engine's options and `engine.register`, `key:NAME` for a key of the service,
   * `local` for a service without keys. Its name and tags are the registrant's own words; this is not.
   */
  readonly registrant: string;
  /**
   * Commands of an AgentSpace tool, as far as its code shows them: texts with which `execute_command` compares the
   * given name. Absent: it has no commands.
   */
  readonly commands?: readonly string[];
  /** The only tenant whose calls find it: another tenant may have a tool of the same name. Absent: all tenants. */
  readonly tenant?: string;
  /**
   * SHA-256, in hexadecimal, of its code, runtime, contract and schemas, and of the capabilities, limits and isolation
   * that it requests. Its config, name, tags and description are not part of it.
   */
  readonly digest: string;
}

interface ScriptSize {
  readonly bytes: number;
  readonly evaluationMs: number;
}

export interface CheckOptions {
  /** For the `spec` of a module: the module itself is the source, so the spec must not name one. */
  readonly allowNoSource?: boolean;
}

const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_CAPABILITIES_BYTES = 64 * 1024;
const MAX_EXAMPLES_BYTES = 64 * 1024;

const NAMES = { type: "array", items: { type: "string", minLength: 1, maxLength: 2_000 }, maxItems: 1_000 };
const AMOUNT = { type: "number", exclusiveMinimum: 0 };
const OBJECT = { type: "object" };
const FLAG = { type: "boolean" };

const CAPABILITIES = {
  type: "object",
  properties: {
    fetch: {
      type: "object",
      properties: {
        origins: NAMES,
        privateOrigins: NAMES,
        methods: NAMES,
        maxBytes: AMOUNT,
        maxRequests: AMOUNT,
      },
      required: ["origins"],
      additionalProperties: false,
    },
    fs: {
      type: "object",
      additionalProperties: {
        type: "object",
        properties: { path: { type: "string" }, mode: { enum: ["ro", "rw"] } },
        required: ["mode"],
        additionalProperties: false,
      },
    },
    kv: {
      anyOf: [{ const: true }, { type: "object", properties: { maxBytes: AMOUNT }, additionalProperties: false }],
    },
    secrets: NAMES,
    tools: NAMES,
    env: NAMES,
  },
};

/** The JSON Schema of a `ToolUndo`. */
export const UNDO = {
  type: "object",
  properties: {
    tool: { type: "string", pattern: "^[A-Za-z0-9_.-]{1,128}$" },
    arguments: {
      type: "object",
      maxProperties: 64,
      additionalProperties: { type: "string", pattern: "^/(?:input|output)(?:/.{0,500})?$" },
    },
  },
  required: ["tool", "arguments"],
  additionalProperties: false,
} satisfies JsonSchema;

/** The JSON Schema of a definition. */
export const DEFINITION = {
  type: "object",
  properties: {
    name: { type: "string", pattern: "^[A-Za-z0-9_.-]{1,128}$" },
    description: { type: "string", minLength: 1, maxLength: 10_000 },
    version: { type: "string", minLength: 1, maxLength: 128 },
    tags: { type: "array", items: { type: "string", minLength: 1, maxLength: 64 }, maxItems: 64 },
    inputSchema: { type: ["object", "boolean"] },
    outputSchema: { type: ["object", "boolean"] },
    source: { type: "string" },
    entry: { type: "string", minLength: 1 },
    runtime: { type: "string", pattern: PLUGGED_NAME.source },
    isolation: { enum: ["instance", "context", "isolate", "shared"] },
    limits: OBJECT,
    capabilities: CAPABILITIES,
    config: true,
    retries: { type: "integer", minimum: 0, maximum: 5 },
    retryOn: { enum: ["lost", "failure"] },
    annotations: {
      type: "object",
      properties: {
        title: { type: "string", maxLength: 1_000 },
        readOnly: FLAG,
        destructive: FLAG,
        idempotent: FLAG,
        openWorld: FLAG,
      },
      additionalProperties: false,
    },
    approval: {
      anyOf: [
        { const: "always" },
        {
          type: "object",
          properties: { when: { type: ["object", "boolean"] }, message: { type: "string", maxLength: 1_000 } },
          required: ["when"],
          additionalProperties: false,
        },
      ],
    },
    undo: UNDO,
    outputChars: { type: "integer", minimum: 1 },
    timeoutArgument: { type: "string", minLength: 1, maxLength: 128 },
    examples: {
      type: "array",
      maxItems: 100,
      items: {
        type: "object",
        properties: {
          name: { type: "string", maxLength: 1_000 },
          input: true,
          output: true,
          error: { type: "string" },
        },
        required: ["input"],
        additionalProperties: false,
      },
    },
  },
  required: ["name", "description"],
  additionalProperties: false,
} satisfies JsonSchema;

let validator: Validator | undefined;

/** Compiles the checks of definitions, before the first one. */
export function prepareDefinitions(): Validator {
  return (validator ??= compileSchema(DEFINITION, "inputSchema"));
}

/**
 * Checks a definition from `register` or a module's `spec`, and fills in the version. Throws a `GloveboxError` with
 * `load_error` and advice.
 */
export function checkDefinition(definition: unknown, options: CheckOptions = {}): CheckedDefinition {
  const violations = prepareDefinitions().check(definition);
  if (violations.length > 0 || !isDefinition(definition)) {
    throw loadError(nameOf(definition), `is not defined correctly: ${describeViolations(violations)}`, { violations });
  }
  const { name } = definition;
  checkSource(definition, options.allowNoSource === true);
  checkJson(name, "config", definition.config, MAX_CONFIG_BYTES);
  checkJson(name, "capabilities", definition.capabilities, MAX_CAPABILITIES_BYTES);
  checkApproval(name, definition.approval);
  checkJson(name, "list of examples", definition.examples, MAX_EXAMPLES_BYTES);
  try {
    resolveLimits(DEFAULT_LIMITS, definition.limits, MAX_LIMITS);
  } catch (error) {
    throw loadError(name, `is not defined correctly: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { ...definition, version: definition.version ?? "0.0.0" };
}

/** Narrows the type only: the schema has checked the rest. */
function isDefinition(value: unknown): value is CheckedDefinition {
  return typeof value === "object" && value !== null;
}

function checkApproval(name: string, approval: ToolApproval | undefined): void {
  if (approval === undefined || approval === "always") return;
  try {
    compileSchema(approval.when, "inputSchema");
  } catch (error) {
    throw loadError(name, `has an approval.when that is no schema: ${error instanceof Error ? error.message : ""}`);
  }
}

function checkSource(definition: CheckedDefinition, isSpec: boolean): void {
  const given = [definition.source, definition.entry].filter((one) => one !== undefined).length;
  if (isSpec && given > 0) {
    throw loadError(
      definition.name,
      "has a spec with source or entry; remove them, because the module itself is the source",
    );
  }
  if (!isSpec && given !== 1) {
    throw loadError(definition.name, "must have exactly one of source (the text of the module) and entry (its file)");
  }
}

function checkJson(tool: string, key: string, value: unknown, maxBytes: number): void {
  if (value === undefined) return;
  let text: string | undefined;
  try {
    text = writeAny(value);
  } catch (error) {
    throw loadError(tool, `has a ${key} that is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (text === undefined) throw loadError(tool, `has a ${key} that is not JSON; give a JSON value`);
  if (Buffer.byteLength(text) > maxBytes) {
    throw loadError(tool, `has a ${key} of more than ${maxBytes} bytes as JSON; make it smaller`);
  }
}

function nameOf(definition: unknown): string {
  const name: unknown = isDefinition(definition) ? definition.name : undefined;
  return typeof name === "string" && name !== "" ? name.slice(0, 128) : "(without a name)";
}
