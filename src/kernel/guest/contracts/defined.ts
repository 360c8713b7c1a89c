import { type Exports, isObject, isThenable, type ToolFunction, withUndo } from "./adapter.ts";

/**
 * Tools of `defineTool`. The bundler's `defineTool` marks them: the mark describes a schema, which needs a module with
 * its schema library. A bundle for calls exports only the function `run`, or also the one that undoes calls.
 */
interface DefinedTool {
  readonly run: unknown;
  /** The undo of its calls: a function, or data for the host. */
  readonly undo?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly "~tool": (schema: unknown, side: "input" | "output") => SchemaDescription;
}

/** The shape of `SchemaDescription` in `kernel/base/schema/describe-schema.ts`. */
interface SchemaDescription {
  readonly schema: unknown;
  readonly check: unknown;
  readonly more: string | null;
}

/** The mark of a bundle whose own schemas parse the arguments and the output of calls. */
const PARSES = "~parses";

/** The defined tool that a module exports by default, if any. */
export function definedIn(exports: Exports): DefinedTool | undefined {
  for (const one of [exports["default"], exports]) {
    if (isObject(one) && typeof Reflect.get(one, "~tool") === "function") return one as DefinedTool;
  }
  return undefined;
}

/** Describes a tool as its definition, with JSON Schemas, for the host. */
export function describeDefined(tool: DefinedTool): object {
  const { run, undo, inputSchema, outputSchema, "~tool": describe, ...facts } = tool;
  if (typeof run !== "function") throw new TypeError("defineTool takes a function run(input, context)");
  const input = describedBy(describe, "inputSchema", inputSchema, "input");
  const output = describedBy(describe, "outputSchema", outputSchema, "output");
  return {
    ...(typeof undo === "function" ? { undo: "function" } : {}),
    definition: {
      ...facts,
      ...(undo === undefined || typeof undo === "function" ? {} : { undo }),
      ...(input === null ? {} : { inputSchema: input.schema }),
      ...(output === null ? {} : { outputSchema: output.schema }),
    },
    check: input?.check ?? null,
    more: [moreOf("inputSchema", input), moreOf("outputSchema", output)].filter((more) => more !== ""),
  };
}

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

function describedBy(
  describe: DefinedTool["~tool"],
  name: string,
  schema: unknown,
  side: "input" | "output",
): SchemaDescription | null {
  if (schema === undefined) return null;
  let found: SchemaDescription;
  try {
    found = describe(schema, side);
  } catch (error) {
    throw new TypeError(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return { ...found, schema: inDialect(found.schema), check: inDialect(found.check) };
}

/** A JSON Schema that names no dialect is one of draft 2020-12, as libraries write it. */
function inDialect(schema: unknown): unknown {
  return isObject(schema) && !Array.isArray(schema) ? { $schema: DIALECT, ...schema } : schema;
}

function moreOf(name: string, description: SchemaDescription | null): string {
  return description === null || description.more === null ? "" : `${name} ${description.more}`.slice(0, 300);
}

/** The function of a defined tool, with its schemas around it if the bundle is marked as parsing. */
export function openDefined(exports: Exports, { run, undo, inputSchema, outputSchema }: DefinedTool): ToolFunction {
  if (typeof run !== "function") throw new TypeError("the tool has no function run(input, context)");
  if (exports[PARSES] !== true) return withUndo(run as ToolFunction, undo);
  const reads = parserOf(inputSchema, refuseArguments);
  const call = withUndo(run as ToolFunction, undo, reads);
  const writes = parserOf(outputSchema, refuseOutput);
  return (input, context, command) => {
    // The schemas describe the tool's main operation, not its commands.
    if (command !== undefined) return call(input, context, command);
    const read = reads === null ? input : reads(input);
    const answer = isThenable(read)
      ? Promise.resolve(read).then((value) => call(value, context, command))
      : call(read, context, command);
    if (writes === null) return answer;
    return isThenable(answer) ? Promise.resolve(answer).then(writes) : writes(answer);
  };
}

/** A failure of a call, as JSON, that is no error of its tool. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly #failure: string;

  constructor(failure: string) {
    super("a schema refuses a value");
    this.#failure = failure;
  }

  /** The failure of a refusal; `null` for any other thrown value, which may be a proxy: its traps are not run. */
  static failureIn(thrown: unknown): string | null {
    return typeof thrown === "object" && thrown !== null && #failure in thrown ? thrown.#failure : null;
  }
}

type Refuse = (value: unknown, issues: readonly unknown[]) => Refusal;

/** Parses values with a schema of a library; `null` for a JSON Schema, which has checked them already. */
export function parserOf(schema: unknown, refuse: Refuse): ((value: unknown) => unknown) | null {
  const isLibrary = isObject(schema) || typeof schema === "function";
  const standard: unknown = isLibrary ? Reflect.get(schema, "~standard") : undefined;
  const validate: unknown = isObject(standard) ? Reflect.get(standard, "validate") : undefined;
  if (typeof validate !== "function") return null;
  return (value) => {
    const result: unknown = Reflect.apply(validate, standard, [value]);
    return isThenable(result)
      ? Promise.resolve(result).then((one) => valueOf(one, value, refuse))
      : valueOf(result, value, refuse);
  };
}

function valueOf(result: unknown, value: unknown, refuse: Refuse): unknown {
  if (!isObject(result)) throw new TypeError("the schema's validate returns no result");
  const issues: unknown = Reflect.get(result, "issues");
  if (issues === undefined) return Reflect.get(result, "value");
  throw refuse(value, listOf(issues));
}

/** A copy: a library's list may have its own class, whose `map` makes another one. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? Array.from(value) : [];
}

const ISSUES_MAX = 50;
const SHOWN_MAX = 5;
const TEXT_MAX = 300;

export function refuseArguments(value: unknown, issues: readonly unknown[]): Refusal {
  const violations = issues.slice(0, ISSUES_MAX).map((issue) => violationOf(value, issue));
  const shown = violations.slice(0, SHOWN_MAX).map(({ message }) => message);
  const more = issues.length - shown.length;
  const message = shown.join("; ") + (more > 0 ? `; and ${more} more` : "");
  return new Refusal(failure("invalid_arguments", message, violations));
}

function refuseOutput(value: unknown, issues: readonly unknown[]): Refusal {
  const violations = issues.slice(0, ISSUES_MAX).map((issue) => violationOf(value, issue));
  return new Refusal(failure("invalid_output", "the output does not match the tool's outputSchema", violations));
}

/** A failure as JSON, without its last violations if the text would be too long. */
export function failure(code: string, message: string, violations: readonly object[]): string {
  const text = JSON.stringify({ code, message, violations });
  return text.length > FAILURE_MAX && violations.length > 0 ? failure(code, message, violations.slice(0, -1)) : text;
}

const FAILURE_MAX = 64 * 1024;

/** An issue of a schema library in the shape of a `Violation`. */
function violationOf(value: unknown, issue: unknown) {
  const path: unknown = isObject(issue) ? Reflect.get(issue, "path") : undefined;
  const said: unknown = isObject(issue) ? Reflect.get(issue, "message") : undefined;
  const expected = cut(typeof said === "string" ? said : "a value that the schema accepts");
  const keys = listOf(path).map(keyOf);
  const pointer = cut(keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""));
  const received = shown(keys.reduce(memberOf, value));
  const message = `${pointer === "" ? "the value" : pointer}: ${expected}`;
  return { pointer, keyword: "custom", expected, received, message };
}

function keyOf(part: unknown): string {
  return String(isObject(part) ? Reflect.get(part, "key") : part);
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `array of ${value.length} ${value.length === 1 ? "item" : "items"}`;
  if (typeof value === "object") {
    const count = Object.keys(value).length;
    return `object with ${count} ${count === 1 ? "property" : "properties"}`;
  }
  return typeof value === "string"
    ? `string ${cut(JSON.stringify(value.slice(0, TEXT_MAX)), 80)}`
    : `${typeof value} ${String(value as number)}`;
}

function cut(text: string, max: number = TEXT_MAX): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
