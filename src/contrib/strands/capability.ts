import { createHash } from "node:crypto";
import { memberOf, pointerSegment } from "../../kernel/base/json.ts";
import { partsOf } from "./pattern-parts.ts";
import { CONFIGS } from "./pattern-schema.ts";
import { PROVIDERS } from "./providers.ts";
import { getRegistry, type ToolRegistry } from "./registry.ts";
import { callablesOf } from "./tool-adapter.ts";
import { TOOL_KINDS, type Workflow } from "./workflow.ts";

/** A feature of a workflow that is not supported. */
export interface CapabilityIssue {
  /** JSON pointer into the workflow. */
  readonly pointer: string;
  readonly reason: string;
  readonly remediation: string;
}

/** The runnable form of a workflow: each tool once, by its id. */
export interface NormalizedWorkflow extends Omit<Workflow, "tools"> {
  readonly tools: readonly string[];
}

export interface CapabilityReport {
  readonly supported: boolean;
  readonly issues: readonly CapabilityIssue[];
  /** `null` if the workflow is not supported. */
  readonly normalized: NormalizedWorkflow | null;
  /** SHA-256 of the workflow's JSON with sorted keys: equal for equivalent files. */
  readonly spec_fingerprint: string;
}

/** Supported patterns. */
const PATTERNS: readonly string[] = Object.keys(CONFIGS);

/** Supported features of workflows. */
export const SUPPORTED: { readonly [feature: string]: readonly string[] } = {
  version: ["any"],
  "runtime.provider": PROVIDERS,
  "pattern.type": PATTERNS,
  tools: TOOL_KINDS,
  outputs: ["artifacts"],
};

const LANGUAGES: { readonly [kind: string]: string } = { python: "Python", javascript: "JavaScript" };

/**
 * Checks, before running anything, that a workflow is supported: its pattern, its provider, and every tool in the
 * registry's allowlist. Default: the process's registry.
 */
export async function check_capability(spec: Workflow, registry?: ToolRegistry): Promise<CapabilityReport> {
  const known = registry ?? (await getRegistry());
  const issues = [
    ...runtimeIssues(spec),
    ...agentIssues(spec, known),
    ...patternIssues(spec, known),
    ...toolIssues(spec, known),
    ...skillIssues(spec),
    ...otherIssues(spec, known),
  ];
  const supported = issues.length === 0;
  return {
    supported,
    issues,
    normalized: supported ? normalize(spec, known) : null,
    spec_fingerprint: createHash("sha256").update(canonical(spec)).digest("hex"),
  };
}

function runtimeIssues({ runtime: { provider, model_id }, agents }: Workflow): CapabilityIssue[] {
  const issues = providerIssues("/runtime/provider", provider);
  if (model_id !== "" || Object.values(agents).every((agent) => agent.model_id !== undefined)) return issues;
  const remediation = "Name a model in runtime.model_id, or one for each agent";
  return [...issues, { pointer: "/runtime/model_id", reason: "No model is named", remediation }];
}

function providerIssues(pointer: string, provider: string): CapabilityIssue[] {
  if (PROVIDERS.includes(provider)) return [];
  const remediation = `Use one of ${PROVIDERS.join(", ")}; other servers that speak OpenAI's protocol are reached with openai and a host`;
  return [{ pointer, reason: `Provider '${provider}' is not supported`, remediation }];
}

function agentIssues(spec: Workflow, registry: ToolRegistry): CapabilityIssue[] {
  return Object.entries(spec.agents).flatMap(([id, { $ref, provider, tools = [] }]): CapabilityIssue[] => {
    const pointer = `/agents${pointerSegment(id)}`;
    const named = tools.map((tool, index) => [`${pointer}/tools/${index}`, tool] as const);
    const issues = [
      ...(provider === undefined ? [] : providerIssues(`${pointer}/provider`, provider)),
      ...seenIssues(spec, registry, named),
    ];
    if ($ref === undefined) return issues;
    const remediation = "Write the agent's prompt into the workflow: no other file is read";
    return [...issues, { pointer: `${pointer}/$ref`, reason: "Agents of other files are not supported", remediation }];
  });
}

function patternIssues(spec: Workflow, registry: ToolRegistry): CapabilityIssue[] {
  const { humans, tools } = partsOf(spec.pattern);
  const remediation = "Remove the step, and let an agent or the caller of the workflow decide";
  const waiting = humans.map((pointer) => ({
    pointer,
    reason: "Steps that wait for a person are not supported",
    remediation,
  }));
  return [...waiting, ...seenIssues(spec, registry, tools)];
}

/** The tools of agents and steps have to be among the workflow's tools. Tools of other kinds have a separate issue. */
function seenIssues(
  spec: Workflow,
  registry: ToolRegistry,
  named: readonly (readonly [pointer: string, tool: string])[],
): CapabilityIssue[] {
  const listed = new Set(callablesOf(spec).map((callable) => registry.find(callable)?.id ?? callable));
  const hasOthers = Object.keys(spec.tools).some((kind) => !TOOL_KINDS.includes(kind));
  return named.flatMap(([pointer, tool]) => {
    const id = registry.find(tool)?.id ?? tool;
    if (listed.has(id) || (hasOthers && registry.find(tool) === null)) return [];
    const remediation = "List it under tools.python, if it is a native tool";
    return [{ pointer, reason: `Tool '${tool}' is not one of the workflow's tools`, remediation }];
  });
}

/**
 * Sections that are not executed. Hints without an effect are accepted: `metadata`, `tags`, `telemetry`,
 * `runtime.region`, `runtime.budgets.warn_threshold`, an agent's `input_schema` and `output_schema`, `env.secrets` of
 * the environment (they are for tools of other kinds), and `context_policy.compaction`.
 * `security.guardrails.allow_tools` and `context_policy.retrieval.jit_tools` are enforced. Sections that should change
 * the behaviour or the permissions of a run, and are not supported, are refused.
 */
function otherIssues(spec: Workflow, registry: ToolRegistry): CapabilityIssue[] {
  const { env, context_policy, security } = spec.others;
  const retrieval = memberOf(context_policy, "retrieval");
  const guardrails = memberOf(security, "guardrails");
  const secrets = listIn(env, "secrets").filter((secret) => memberOf(secret, "source") !== "env");
  const refused: readonly (readonly [isUsed: boolean, pointer: string, what: string, remediation: string])[] = [
    [
      secrets.length > 0,
      "/env/secrets",
      "Secrets from elsewhere than the environment",
      "Put them into the environment",
    ],
    [isFilled(memberOf(env, "mounts")), "/env/mounts", "Mounts", "Grant folders to the tools in the configuration"],
    [
      listIn(retrieval, "mcp_servers").length > 0,
      "/context_policy/retrieval/mcp_servers",
      "MCP servers",
      "Use native tools",
    ],
    [
      memberOf(guardrails, "deny_network") === true,
      "/security/guardrails/deny_network",
      "Denying the network to a workflow",
      "Grant the tools no fetch in the configuration",
    ],
    [
      memberOf(guardrails, "pii_redaction") === true,
      "/security/guardrails/pii_redaction",
      "Redaction of personal data",
      "Let a tool do it",
    ],
  ];
  const issues = refused
    .filter(([isUsed]) => isUsed)
    .map(([, pointer, what, remediation]) => ({ pointer, reason: `${what}: not supported`, remediation }));
  return [
    ...issues,
    ...jitIssues(listIn(retrieval, "jit_tools"), registry),
    ...allowedIssues(spec, registry, guardrails),
  ];
}

function skillIssues({ skills }: Workflow): CapabilityIssue[] {
  return skills.flatMap(({ id, modules }, index) => {
    if (Object.hasOwn(modules, "")) return [];
    const reason = `Skill '${id}' has no SKILL.md in a folder beside the workflow`;
    return [
      { pointer: `/skills/${index}/path`, reason, remediation: "Put it there, at most 256 KiB long, or remove it" },
    ];
  });
}

function jitIssues(tools: readonly unknown[], registry: ToolRegistry): CapabilityIssue[] {
  return tools.map(String).flatMap((tool, index) => {
    if (registry.find(tool) !== null) return [];
    const remediation = `Add a native tool of that name under ${registry.place}`;
    return [
      { pointer: `/context_policy/retrieval/jit_tools/${index}`, reason: `There is no tool '${tool}'`, remediation },
    ];
  });
}

function allowedIssues(spec: Workflow, registry: ToolRegistry, guardrails: unknown): CapabilityIssue[] {
  if (memberOf(guardrails, "allow_tools") === undefined) return [];
  const idOf = (callable: string) => registry.find(callable)?.id ?? callable;
  const allowed = new Set(listIn(guardrails, "allow_tools").map((tool) => idOf(String(tool))));
  return callablesOf(spec).flatMap((callable) => {
    if (allowed.has(idOf(callable))) return [];
    const remediation = "Remove the tool, or allow it";
    return [{ pointer: "/security/guardrails/allow_tools", reason: `Tool '${callable}' is not allowed`, remediation }];
  });
}

function listIn(value: unknown, key: string): readonly unknown[] {
  const list = memberOf(value, key);
  return Array.isArray(list) ? list : [];
}

function isFilled(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function toolIssues({ tools }: Workflow, registry: ToolRegistry): CapabilityIssue[] {
  const allowed = registry.get_allowlist();
  return Object.entries(tools).flatMap(([kind, entries]): CapabilityIssue[] => {
    if (!TOOL_KINDS.includes(kind)) {
      const remediation = `List native tools under tools.${TOOL_KINDS.join(" or tools.")}`;
      return [
        {
          pointer: `/tools${pointerSegment(kind)}`,
          reason: `Tools of the kind '${kind}' are not supported`,
          remediation,
        },
      ];
    }
    return entries.flatMap(({ callable }, index): CapabilityIssue[] => {
      if (allowed.has(callable)) return [];
      const reason = `${LANGUAGES[kind] ?? kind} callable '${callable}' not in allowlist`;
      const remediation = `Use an existing native tool or add one under ${registry.place}`;
      return [{ pointer: `/tools${pointerSegment(kind)}/${index}/callable`, reason, remediation }];
    });
  });
}

function normalize(spec: Workflow, registry: ToolRegistry): NormalizedWorkflow {
  const ids = callablesOf(spec)
    .map((callable) => registry.find(callable)?.id)
    .filter((id) => id !== undefined);
  return { ...spec, tools: [...new Set(ids)] };
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    const sorted = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted);
  });
}
