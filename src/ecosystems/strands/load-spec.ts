import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { compileSchema } from "../../base/schema/schema.ts";
import { readYaml, YamlError } from "../../base/yaml-text.ts";
import { SpecError, type SpecProblem } from "./errors.ts";
import { Templates } from "./template.ts";
import {
  type Agent,
  type Artifact,
  type Runtime,
  type Step,
  type ToolEntry,
  type Workflow,
  WORKFLOW,
} from "./workflow.ts";

const FILE_MAX_BYTES = 256 * 1024;

/** A workflow file that matches the schema. */
interface Written {
  readonly name: string;
  readonly description?: string;
  readonly runtime: Runtime;
  readonly agents: { readonly [id: string]: Agent };
  readonly pattern: { readonly type: string; readonly config: { readonly steps?: unknown } };
  readonly tools?: { readonly [kind: string]: unknown };
  readonly outputs?: { readonly artifacts?: readonly Artifact[] };
}

/**
 * Reads a workflow's YAML file. Rejects with a `SpecError` that names the file and lists all errors: schema violations,
 * steps of unknown agents, unreadable templates.
 */
export async function load_spec(file: string): Promise<Workflow> {
  const shown = path.basename(file);
  const value = await parse(file, shown);
  // The violation of `if` only repeats those of the chain's schema.
  const violations = compileSchema(WORKFLOW, "inputSchema")
    .check(value)
    .filter(({ keyword }) => keyword !== "if");
  if (violations.length > 0) throw new SpecError(shown, violations);
  const spec = normalize(value as Written);
  const problems = [...unknownAgents(spec), ...unreadableTemplates(spec, await Templates.load())];
  if (problems.length > 0) throw new SpecError(shown, problems);
  return spec;
}

async function parse(file: string, shown: string): Promise<unknown> {
  const refuse = (message: string) => new SpecError(shown, [{ pointer: "", message }]);
  const found = await stat(file).catch(() => null);
  if (found?.isFile() !== true) throw refuse("there is no such file");
  if (found.size > FILE_MAX_BYTES) throw refuse(`it has more than ${FILE_MAX_BYTES} bytes`);
  const text = await readFile(file, "utf8");
  try {
    return readYaml(text);
  } catch (error) {
    if (error instanceof YamlError) throw refuse(error.message);
    throw error;
  }
}

function normalize({ name, description = "", runtime, agents, pattern, tools = {}, outputs = {} }: Written): Workflow {
  const steps = Array.isArray(pattern.config.steps) ? (pattern.config.steps as readonly Step[]) : [];
  return {
    version: 0,
    name,
    description,
    runtime,
    agents: withoutPrototype(agents),
    pattern: { type: pattern.type, config: { steps } },
    tools: withoutPrototype(Object.fromEntries(Object.entries(tools).map(([kind, list]) => [kind, entries(list)]))),
    outputs: { artifacts: outputs.artifacts ?? [] },
  };
}

/** Converts names to entries. Entries of other kinds of tools are never run. */
function entries(list: unknown): readonly ToolEntry[] {
  if (!Array.isArray(list)) return [];
  return list.map((entry: unknown): ToolEntry => {
    if (typeof entry === "string") return { callable: entry };
    const callable: unknown = typeof entry === "object" && entry !== null ? Reflect.get(entry, "callable") : null;
    return { callable: typeof callable === "string" ? callable : "" };
  });
}

/** Ids come from the author and may be names of `Object.prototype`. */
function withoutPrototype<Value>(record: { readonly [key: string]: Value }): { readonly [key: string]: Value } {
  return Object.assign(Object.create(null) as Record<string, Value>, record);
}

function unknownAgents({ agents, pattern }: Workflow): SpecProblem[] {
  const known = Object.keys(agents).join(", ");
  return pattern.config.steps.flatMap(({ agent }, index) => {
    if (Object.hasOwn(agents, agent)) return [];
    const pointer = `/pattern/config/steps/${index}/agent`;
    return [{ pointer, message: `${pointer} names the agent ${JSON.stringify(agent)}; there are ${known}` }];
  });
}

function unreadableTemplates({ pattern, outputs }: Workflow, reader: Templates): SpecProblem[] {
  const templates = [
    ...pattern.config.steps.map(({ input }, index) => [`/pattern/config/steps/${index}/input`, input] as const),
    ...outputs.artifacts.map(({ from }, index) => [`/outputs/artifacts/${index}/from`, from] as const),
  ];
  return templates.flatMap(([pointer, text]) => {
    const problem = reader.describe(text);
    return problem === null ? [] : [{ pointer, message: `${pointer} is no template: ${problem}` }];
  });
}
