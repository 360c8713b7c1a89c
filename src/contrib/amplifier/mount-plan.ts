import { isDeepStrictEqual } from "node:util";
import { digitsOf, parseForWriting } from "../../kernel/base/exact-json.ts";
import { describeExcess, isObject, type JsonValue, pointerSegment } from "../../kernel/base/json.ts";
import { readYaml, YamlError } from "../../kernel/base/yaml-text.ts";

/** A module of a plan. `config` is passed to its `mount` unchanged. */
export interface MountPlanEntry {
  readonly module: string;
  /** Source of the module; without it the module is found by its name. */
  readonly source?: string;
  readonly config: Readonly<Record<string, JsonValue>>;
}

/** The tools of a mount plan. Other sections of a plan do not concern tools and are ignored. */
export interface MountPlan {
  readonly tools: readonly MountPlanEntry[];
}

/** A problem of a plan, with a JSON pointer. A `warning` does not prevent mounting. */
export interface PlanProblem {
  readonly level: "error" | "warning";
  readonly pointer: string;
  readonly message: string;
}

/** Thrown for an invalid plan. `problems` lists all errors. */
export class MountPlanError extends Error {
  override readonly name = "MountPlanError";
  readonly problems: readonly PlanProblem[];

  constructor(problems: readonly PlanProblem[]) {
    const shown = problems.slice(0, SHOWN_MAX).map(({ pointer, message }) => `${pointer || "the plan"} ${message}`);
    const more = problems.length > SHOWN_MAX ? `; and ${problems.length - SHOWN_MAX} more` : "";
    super(`the mount plan is not valid: ${shown.join("; ")}${more}`);
    this.problems = problems;
  }
}

const SHOWN_MAX = 5;
const TEXT_MAX = 1024 * 1024;
const TOOLS_MAX = 1_000;
const MODULE_MAX = 200;
const SOURCE_MAX = 2_048;
const CONFIG_MAX = 256 * 1024;
/** Sections of a plan that Amplifier defines. */
const SECTIONS: readonly string[] = ["session", "context", "providers", "tools", "hooks", "agents"];

/** Parses a plan from YAML or JSON. Throws a `MountPlanError`. */
export function parseMountPlan(text: string): MountPlan {
  return readMountPlan(parse(text));
}

/** Validates a parsed plan. Throws a `MountPlanError`. */
export function readMountPlan(plan: unknown): MountPlan {
  const errors = validateMountPlan(plan).filter(({ level }) => level === "error");
  if (errors.length > 0) throw new MountPlanError(errors);
  const { tools = [] } = plan as { readonly tools?: readonly Partial<MountPlanEntry>[] | null };
  return { tools: (tools ?? []).map(({ module = "", source, config }) => entryOf(module, source, config)) };
}

function entryOf(
  module: string,
  source: string | null | undefined,
  config: MountPlanEntry["config"] | null | undefined,
) {
  return { module, ...(typeof source === "string" ? { source } : {}), config: config ?? {} };
}

/** All problems of a plan; an empty list if it is valid. */
export function validateMountPlan(plan: unknown): readonly PlanProblem[] {
  if (!isMap(plan)) return [error("", "must be an object")];
  const unknown = Object.keys(plan).filter((section) => !SECTIONS.includes(section));
  const warnings = unknown.map((section): PlanProblem => {
    const message = `is no section of a plan; the sections are ${SECTIONS.join(", ")}`;
    return { level: "warning", pointer: pointerSegment(section), message };
  });
  return [...checkTools(plan["tools"] ?? []), ...warnings];
}

/** Not a long integer, which keeps its digits in an object. */
function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && digitsOf(value) === null;
}

function checkTools(tools: unknown): PlanProblem[] {
  if (!Array.isArray(tools)) return [error("/tools", "must be a list")];
  if (tools.length > TOOLS_MAX) return [error("/tools", `must have at most ${TOOLS_MAX} entries`)];
  return tools.flatMap((entry: unknown, index) => checkEntry(entry, `/tools${pointerSegment(index)}`));
}

function checkEntry(entry: unknown, pointer: string): PlanProblem[] {
  if (!isMap(entry)) return [error(pointer, "must be an object")];
  const { module, source, config } = entry;
  const problems: PlanProblem[] = [];
  if (module === undefined) problems.push(error(`${pointer}/module`, "is missing"));
  else if (typeof module !== "string") problems.push(error(`${pointer}/module`, "must be a text"));
  else if (module.trim() === "") problems.push(error(`${pointer}/module`, "must not be empty"));
  else if (module.length > MODULE_MAX) {
    problems.push(error(`${pointer}/module`, `must have at most ${MODULE_MAX} characters`));
  }
  if (source !== undefined && source !== null) {
    if (typeof source !== "string") problems.push(error(`${pointer}/source`, "must be a text"));
    else if (source.length > SOURCE_MAX) {
      problems.push(error(`${pointer}/source`, `must have at most ${SOURCE_MAX} characters`));
    }
  }
  if (config !== undefined && config !== null) {
    const problem = problemWithConfig(config);
    if (problem !== null) problems.push(error(`${pointer}/config`, problem));
  }
  return problems;
}

/** A config enters the isolate as JSON, and must survive that unchanged. */
function problemWithConfig(config: unknown): string | null {
  if (!isMap(config)) return "must be an object";
  try {
    const text = JSON.stringify(config);
    if (text.length > CONFIG_MAX) return `must have at most ${CONFIG_MAX} characters as JSON`;
    // A long integer is a number of the embedder, or keeps the digits of a text.
    const readers = [JSON.parse, parseForWriting];
    return readers.some((read) => isDeepStrictEqual(read(text), config)) ? null : "must be JSON";
  } catch {
    return "must be JSON";
  }
}

function parse(text: string): unknown {
  if (text.length > TEXT_MAX) throw new MountPlanError([error("", `has more than ${TEXT_MAX} characters`)]);
  const excess = describeExcess(text);
  if (excess !== null) throw new MountPlanError([error("", `is ${excess}`)]);
  try {
    return readYaml(text);
  } catch (failure) {
    if (!(failure instanceof YamlError)) throw failure;
    throw new MountPlanError([error("", `cannot be read: ${failure.message}`)]);
  }
}

function error(pointer: string, message: string): PlanProblem {
  return { level: "error", pointer, message };
}
