import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { compileSchema } from "../../kernel/base/schema/schema.ts";
import { readYaml, YamlError } from "../../kernel/base/yaml-text.ts";
import { SpecError, type SpecProblem } from "./errors.ts";
import { Templates } from "./template.ts";
import { type PatternParts, partsOf } from "./pattern-parts.ts";
import { readSkills, type WrittenSkill } from "./skills.ts";
import { structureProblems } from "./structure.ts";
import type {
  Agent,
  Artifact,
  Inputs,
  InputSpec,
  InputType,
  Pattern,
  Runtime,
  Skill,
  ToolEntry,
  Workflow,
} from "./workflow.ts";
import { WORKFLOW } from "./workflow-schema.ts";

const FILE_MAX_BYTES = 256 * 1024;

/** A workflow file that matches the schema. */
interface Written extends Pick<Workflow, "version" | "name" | "pattern"> {
  readonly description?: string;
  readonly runtime: Omit<Runtime, "model_id"> & { readonly model_id?: string };
  readonly agents: { readonly [id: string]: Partial<Agent> };
  readonly tools?: { readonly [kind: string]: unknown };
  readonly outputs?: { readonly artifacts?: readonly Artifact[] };
  readonly inputs?: {
    readonly required?: WrittenInputs;
    readonly optional?: WrittenInputs;
    readonly values?: Inputs["values"];
  };
  readonly env?: unknown;
  readonly context_policy?: unknown;
  readonly skills?: readonly WrittenSkill[];
  readonly security?: unknown;
}

interface WrittenInputs {
  readonly [name: string]: InputType | InputSpec;
}

/**
 * Reads a workflow's YAML file. Rejects with a `SpecError` that names the file and lists all errors: schema violations,
 * steps of unknown agents, unreadable templates.
 */
export async function load_spec(file: string): Promise<Workflow> {
  const shown = path.basename(file);
  const value = await parse(file, shown);
  // The violation of `if` only repeats those of the schema that it selects.
  const violations = compileSchema(WORKFLOW, "inputSchema")
    .check(value)
    .filter(({ keyword }) => keyword !== "if");
  if (violations.length > 0) throw new SpecError(shown, violations);
  const written = value as Written;
  const skills = await readSkills(written.skills ?? [], path.dirname(path.resolve(file)));
  const spec = normalize(written, skills);
  const parts = partsOf(spec.pattern);
  const templates = await Templates.load();
  const problems = [
    ...unknownAgents(spec, parts),
    ...structureProblems(spec.pattern),
    ...unreadableTemplates(spec, parts, templates),
  ];
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

function normalize(written: Written, skills: readonly Skill[]): Workflow {
  const { version, name, description = "", runtime, agents, pattern, tools = {}, outputs = {}, inputs = {} } = written;
  const { env, context_policy, security } = written;
  const others = { env, context_policy, security };
  return {
    version,
    name,
    description,
    runtime: { ...runtime, model_id: runtime.model_id ?? "" },
    agents: mapValues(agents, (agent): Agent => ({ ...agent, prompt: agent.prompt ?? "" })),
    pattern: normalizePattern(pattern),
    tools: mapValues(tools, entries),
    outputs: { artifacts: outputs.artifacts ?? [] },
    inputs: {
      required: mapValues(inputs.required ?? {}, readInput),
      optional: mapValues(inputs.optional ?? {}, readInput),
      values: mapValues(inputs.values ?? {}, (value) => value),
    },
    skills,
    others: Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
  };
}

function normalizePattern(pattern: Pattern): Pattern {
  if (pattern.type === "routing") {
    const { config } = pattern;
    return { type: "routing", config: { ...config, routes: mapValues(config.routes, (route) => route) } };
  }
  if (pattern.type !== "graph") return pattern;
  const { config } = pattern;
  return { type: "graph", config: { ...config, nodes: mapValues(config.nodes, (node) => node) } };
}

function readInput(written: InputType | InputSpec): InputSpec {
  return typeof written === "string" ? { type: written } : written;
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

/** Without a prototype: ids come from the author, and may be names of `Object.prototype`. */
function mapValues<From, To>(
  record: { readonly [key: string]: From },
  change: (value: From) => To,
): { readonly [key: string]: To } {
  const changed = Object.create(null) as Record<string, To>;
  for (const [key, value] of Object.entries(record)) changed[key] = change(value);
  return changed;
}

function unknownAgents({ agents }: Workflow, parts: PatternParts): SpecProblem[] {
  const known = Object.keys(agents).join(", ");
  return parts.agents.flatMap(([pointer, agent]) => {
    if (Object.hasOwn(agents, agent)) return [];
    return [{ pointer, message: `${pointer} names the agent ${JSON.stringify(agent)}; there are ${known}` }];
  });
}

function unreadableTemplates({ outputs }: Workflow, parts: PatternParts, reader: Templates): SpecProblem[] {
  const templates = [
    ...parts.templates,
    ...outputs.artifacts.flatMap(({ path: target, from }, index) => [
      [`/outputs/artifacts/${index}/path`, target] as const,
      [`/outputs/artifacts/${index}/from`, from] as const,
    ]),
  ];
  return templates.flatMap(([pointer, text]) => {
    const problem = reader.describe(text);
    return problem === null ? [] : [{ pointer, message: `${pointer} is no template: ${problem}` }];
  });
}
