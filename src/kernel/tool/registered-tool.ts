import { hash } from "node:crypto";
import { copyJson, writeAny } from "../base/json-writer.ts";
import type { ToolFingerprint } from "../base/ledger-claim.ts";
import { usesProcess, usesSockets } from "../guest/host.ts";
import type { Capability, CapabilityRequest } from "../broker/capabilities/capability.ts";
import type { ModuleReaders, Outcome } from "./contracts/contract.ts";
import { mcpSchemas } from "./contracts/mcp-schema.ts";
import { GloveboxError, loadError } from "../base/errors.ts";
import { frozen, isObject, type JsonSchema } from "../base/json.ts";
import { listedSchema } from "../base/schema/listed-schema.ts";
import { resolveLimits, type Limits } from "../base/limits.ts";
import {
  NO_CONFIG,
  type Inspection,
  type Isolation,
  type ModuleContractName,
  type OutputAt,
  type ToolChecks,
  type ToolScript,
} from "../base/protocol/script.ts";
import type { Bundle } from "./bundle/bundle.ts";
import type { SchemaUse } from "./defined-tool.ts";
import type { CheckedDefinition, RetryOn, ToolInfo } from "./definition.ts";
import { stackMapper } from "./bundle/stack.ts";
import type { StoredProgram } from "./program/program.ts";
import type { ToolResult } from "../base/result.ts";

/** Usage of one version of a tool: its script is dropped when it has been replaced and its last call has ended. */
interface ToolUsage {
  calls: number;
  retired: boolean;
  /** Whether the last ended call made a capability call: then the next one probably will. */
  asks?: boolean;
  /** Names of tools that its calls have called, which need only a turn. */
  callees?: Set<string>;
}

/** A program of one call. */
export interface RunningProgram {
  /** Its stored state while its call waits; `finish` makes the result for its caller. */
  readonly kept: () => Pick<StoredProgram, "limits" | "callees" | "state">;
  readonly finish: (result: ToolResult) => ToolResult;
}

/** Target of a call that undoes another, under a name that no tool has. */
export type UndoTarget =
  /** A call below that one, which another call undoes. `isAgain`: whether its failed parts are retried. */
  | { readonly kind: "call"; readonly id: string; readonly isAgain: boolean }
  /** The function by which a tool's module undoes its calls. */
  | { readonly kind: "function"; readonly tool: string };

/** A tool that can be called. Immutable: registering its name again makes another one. */
export interface RegisteredTool {
  readonly info: ToolInfo;
  readonly script: ToolScript;
  readonly limits: Limits;
  /** The tool's own limits. */
  readonly askedLimits: Partial<Limits>;
  readonly capabilities: CapabilityRequest;
  readonly retries: number;
  readonly retryOn: RetryOn;
  /** Reads the module's return value if that is a result of its contract; `null` if it is the bare output. */
  readonly readResult: ((answer: unknown) => Outcome) | null;
  /** Place of the output in the value for `readResult`; `null` if it is the whole answer. */
  readonly outputAt: OutputAt | null;
  /** Whether it may have operations in addition to its main one. */
  readonly takesCommands: boolean;
  /** Its calls are those of the function that undoes the tool's calls: the command `undo`. */
  readonly isUndoer?: true;
  readonly outputChars: number | null;
  /** The argument that sets the maximum seconds of a call. */
  readonly timeoutArgument: string | null;
  readonly usage: ToolUsage;
  /** A capability of its calls alone, which their caller grants: that of a program. */
  readonly own?: Capability;
  /** Of a call that undoes another, by name. */
  readonly undoes?: ReadonlyMap<string, UndoTarget>;
  /** Names of the tools that a snippet may call: `own` is made from them. */
  readonly snippet?: readonly string[];
  /** The program that it runs, if its call may wait. */
  readonly program?: RunningProgram;
  /** Paths of the operator's files of which it was made, sorted. */
  readonly files: readonly string[];
  /** As the bundler writes it. */
  readonly sourceMap: string;
  /** Maps a stack from inside an isolate to the tool's own lines. */
  mapStack(stack: string): string;
}

/** The result of the inspection, and the key of the script that is ready in its worker. */
export interface Loaded extends Readonly<Extract<Inspection, { ok: true }>> {
  readonly key: string;
  /** Of a tool of `defineTool`. */
  readonly use?: SchemaUse;
  /** Size of the whole module, if this is the half of it that calls need. */
  readonly describe?: ToolInfo["script"];
}

export const ANY_ARGUMENTS: JsonSchema = { type: "object" };
const IN_HOST: SchemaUse = { parses: "host" };

function commandsOf({ contract, described }: Loaded, readers: ModuleReaders): Pick<ToolInfo, "commands"> {
  const commands = readers.get(contract)?.readCommands?.(JSON.parse(described));
  return commands === undefined ? {} : { commands };
}

function namesOf({ node }: Bundle): Pick<ToolInfo, "node"> {
  return node === undefined ? {} : { node: frozenCopy(node) };
}

/** The undo of calls, from the definition or the module. Throws a `GloveboxError` if both have one. */
function undoOf(
  { name, undo }: CheckedDefinition,
  { runtime }: Bundle,
  { contract, described }: Loaded,
): ToolInfo["undo"] {
  if (contract !== "glovebox" || runtime !== "javascript") return undo;
  const found: unknown = Reflect.get(Object(JSON.parse(described)), "undo");
  if (found === undefined) return undo;
  if (found !== "function")
    throw loadError(
      name,
      "exports undo, which is no function: export undo = ({ input, output }, context) => …, or put { tool, arguments } into its definition",
    );
  if (undo === undefined) return found;
  throw loadError(name, "has an undo in its definition and a function undo in its module: leave one of them out");
}

/**
 * The form of a tool that undoes its own calls. It is not repeated, in spite of the tool's declarations about its
 * calls.
 */
export function undoerOf(tool: RegisteredTool): RegisteredTool {
  if (tool.info.undo !== "function") return tool;
  const info = { ...tool.info, annotations: {} };
  // It gets the arguments and the output of the call.
  const inputBytes = tool.limits.inputBytes + tool.limits.outputBytes;
  return { ...tool, info, limits: { ...tool.limits, inputBytes }, isUndoer: true, retries: 0, timeoutArgument: null };
}

function annotationsOf(
  { annotations, approval }: CheckedDefinition,
  undo: ToolInfo["undo"],
): Pick<ToolInfo, "annotations" | "approval" | "undo"> {
  return {
    annotations: frozenCopy(annotations ?? {}),
    ...(approval === undefined ? {} : { approval: frozenCopy(approval) }),
    ...(undo === undefined ? {} : { undo: frozenCopy(undo) }),
  };
}

/** Parts of an engine of which its tools are made. */
interface RegisteringEngine {
  readonly limits: Limits;
  readonly maxLimits: Limits;
  readonly readers: ModuleReaders;
  readonly registrant: string;
  readonly tenant?: string;
}

/** Assembles a tool. Throws a `GloveboxError` if it requests an isolation level at which it does not load. */
export function registeredTool(
  definition: CheckedDefinition,
  checks: ToolChecks,
  bundle: Bundle,
  inspection: Loaded,
  engine: RegisteringEngine,
): RegisteredTool {
  const { name, version = "0.0.0" } = definition;
  const inputSchema = listedSchema(definition.inputSchema ?? ANY_ARGUMENTS);
  const outputSchema = definition.outputSchema === undefined ? null : listedSchema(definition.outputSchema);
  const limits = Object.freeze(resolveLimits(engine.limits, definition.limits, engine.maxLimits));
  // Numbers, however long: requests are sent to the broker's thread.
  const capabilities = frozen(
    JSON.parse(writeAny({ ...definition.capabilities, ...bundle.requests })) as CapabilityRequest,
  );
  const { isolation, isolationReason } = chooseIsolation(name, definition.isolation, bundle, inspection);
  const { retries = 0 } = definition;
  const { rewrites } = mcpSchemas(inputSchema, outputSchema);
  const info: ToolInfo = Object.freeze({
    name,
    description: definition.description,
    version,
    tags: frozenCopy(definition.tags ?? []),
    inputSchema,
    outputSchema,
    runtime: bundle.runtime,
    contract: inspection.contract,
    ...annotationsOf(definition, undoOf(definition, bundle, inspection)),
    retries,
    isolation,
    ...(isolationReason === undefined ? {} : { isolationReason }),
    limits,
    capabilities,
    script: Object.freeze({
      bytes: bundle.bytes,
      evaluationMs: inspection.evaluationMs,
      ...(inspection.describe === undefined ? {} : { describe: Object.freeze(inspection.describe) }),
    }),
    ...namesOf(bundle),
    ...(inspection.use ?? IN_HOST),
    ...(rewrites.length === 0 ? {} : { mcpRewrites: frozenCopy(rewrites) }),
    ...(definition.examples === undefined ? {} : { examples: frozenCopy(definition.examples) }),
    ...commandsOf(inspection, engine.readers),
    registrant: engine.registrant,
    ...(engine.tenant === undefined ? {} : { tenant: engine.tenant }),
    digest: digestOf(definition, bundle, inspection, capabilities),
  });
  const script: ToolScript = Object.freeze({
    key: inspection.key,
    name,
    version,
    runtime: bundle.runtime,
    isolation,
    memoryMb: limits.memoryMb,
    config: writeAny(definition.config ?? null),
    contract: inspection.contract,
    checks: checksFor(inspection.contract, checks, engine.readers),
    ...configShownBy(inspection.contract, engine.readers),
    ...codeOf(bundle, capabilities),
    registrant: info.registrant,
    digest: info.digest,
  });
  const usage: ToolUsage = { calls: 0, retired: false };
  return Object.freeze({
    info,
    script,
    limits,
    askedLimits: Object.freeze({ ...definition.limits }),
    capabilities,
    retries,
    retryOn: definition.retryOn ?? "lost",
    ...readerOf(inspection.contract, checks, engine.readers),
    takesCommands: engine.readers.get(inspection.contract)?.readCommands !== undefined,
    outputChars: definition.outputChars ?? null,
    timeoutArgument: definition.timeoutArgument ?? null,
    usage,
    files: bundle.files ?? [],
    sourceMap: bundle.sourceMap,
    mapStack: stackMapper(name, bundle),
  });
}

/** Variables of `process.env`: a call requests each when it starts. */
const ENV_MAX = 64;

/**
 * The code, with a mark if constructors of sockets have to report that the tool lacks the capability `fetch`, and with
 * the variables of the environment that it reads as Node's code does.
 */
function codeOf(
  { text, isInterpreted }: Bundle,
  { fetch, env = [] }: CapabilityRequest,
): Pick<ToolScript, "text" | "isInterpreted" | "lacksFetch" | "env"> {
  const named = env.filter((name) => !name.endsWith("*")).slice(0, ENV_MAX);
  return {
    text,
    ...(isInterpreted === true && { isInterpreted }),
    ...(fetch === undefined && usesSockets(text) && { lacksFetch: true }),
    ...(named.length > 0 && usesProcess(text) && { env: named }),
  };
}

/** Digest that a rule of the policy pins. The operator's settings are not part of it, nor config, which may hold secrets. */
function digestOf(
  { inputSchema, outputSchema, limits, isolation }: CheckedDefinition,
  { text, runtime }: Bundle,
  { contract }: Loaded,
  capabilities: CapabilityRequest,
): string {
  const parts = [runtime, contract, inputSchema ?? null, outputSchema ?? null, capabilities, limits ?? {}, isolation];
  return hash("sha256", writeAny([hash("sha256", text), ...parts]));
}

/**
 * The requested level; default `instance`. A module that does not load in a hardened realm gets a separate context for
 * each call instead of an instance; it cannot be `shared`, which promises shared state.
 */
function chooseIsolation(
  name: string,
  asked: Isolation | undefined,
  { isInterpreted, isCommand }: Bundle,
  inspection: Loaded,
): { isolation: Isolation; isolationReason?: string } {
  const wanted = asked ?? "instance";
  if (isInterpreted === true && wanted === "context") {
    return { isolation: "isolate", isolationReason: "its interpreter needs an isolate of its own" };
  }
  if (isCommand === true && wanted === "shared") {
    throw loadError(
      name,
      `cannot have the isolation "shared": a command starts afresh for each call, so its calls have no state to share`,
    );
  }
  if (inspection.isolation !== "context" || wanted === "context" || wanted === "isolate") return { isolation: wanted };
  const reason = inspection.isolationReason ?? "the module does not load in a hardened realm";
  if (wanted === "shared") {
    throw loadError(name, `cannot have the isolation "shared": ${reason}; fix that, or use "context"`);
  }
  return { isolation: "context", isolationReason: reason };
}

/** Whether a tool's texts have to be searched for keys of its config. */
export function configShownBy(contract: string | null, readers: ModuleReaders): Pick<ToolScript, "showsConfig"> {
  const hides = contract === null || readers.get(contract)?.hidesConfig === true;
  return hides ? {} : { showsConfig: true };
}

/** The checks of a tool in its isolate, with the place of the output in the answers of its contract. */
export function checksFor(contract: ModuleContractName | null, checks: ToolChecks, readers: ModuleReaders): ToolChecks {
  const outputAt = contract === null ? undefined : readers.get(contract)?.outputAt;
  return outputAt === undefined || checks.output === "" ? checks : { ...checks, outputAt };
}

/**
 * The reader of a module's return value, with the place of its output. Throws a `GloveboxError` if the contract is
 * unknown.
 */
export function readerOf(
  contract: ModuleContractName | null,
  { outputAt }: Pick<ToolChecks, "outputAt">,
  readers: ModuleReaders,
): Pick<RegisteredTool, "readResult" | "outputAt"> {
  if (contract === null || contract === "glovebox") return BARE;
  const reader = readers.get(contract);
  if (reader === undefined) throw new GloveboxError("load_error", `no plugin brings the contract ${contract}`);
  // Most tools of libraries answer with their output.
  if (reader.isLibrary === true) return outputAt === undefined ? BARE : WRAPPED;
  if (reader.readResult === undefined) return BARE;
  return { readResult: reader.readResult.bind(reader), outputAt: reader.outputAt ?? null };
}

const BARE = { readResult: null, outputAt: null };
const WRAPPED = { readResult: readWrapped, outputAt: "/output" } as const;

/** `WrappedAnswer` of `contrib/agents/guest`. */
function readWrapped(answer: unknown): Outcome {
  if (!isObject(answer) || !isObject(answer["metadata"])) throw new TypeError("the tool changed what holds its output");
  return { ok: true, output: answer["output"] ?? null, metadata: answer["metadata"] };
}

function frozenCopy<Value>(value: Value): Value {
  return frozen(copyJson(value));
}

/** Whether replacing one tool by the other changes nothing: then the old one stays, with its warm isolates. */
export function isSameTool(one: RegisteredTool, other: RegisteredTool): boolean {
  return substanceOf(one) === substanceOf(other);
}

function substanceOf(tool: RegisteredTool): string {
  const { info, script, askedLimits, retryOn, outputChars, timeoutArgument, files } = tool;
  // The evaluation time and the key are not part of a tool's behaviour.
  const { script: _measured, ...declared } = info;
  const { key: _key, ...code } = script;
  return JSON.stringify([declared, code, askedLimits, retryOn, outputChars, timeoutArgument, files]);
}

/** Caches the hash of a tool's code, which may be large, across its calls. */
const fingerprints = new WeakMap<RegisteredTool, ToolFingerprint>();

/**
 * The identity of a tool across servers: everything that determines how a stored output becomes a result, not how the
 * tool is run. Not salted, because servers must compute the same mark independently; it travels sealed.
 */
export function fingerprintOf(tool: RegisteredTool): ToolFingerprint {
  const old = fingerprints.get(tool);
  if (old !== undefined) return old;
  const { script, info, outputChars } = tool;
  const { name, version, runtime, contract, config, text } = script;
  const parts = [name, version, runtime, contract, config, info.outputSchema, outputChars, hash("sha256", text)];
  const mark = { mark: hash("sha256", JSON.stringify(parts)), isConfidential: config !== NO_CONFIG };
  fingerprints.set(tool, mark);
  return mark;
}
