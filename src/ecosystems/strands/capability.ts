import { createHash } from "node:crypto";
import { pointerSegment } from "../../base/json.ts";
import { PROVIDERS } from "./providers.ts";
import { getRegistry, type ToolRegistry } from "./registry.ts";
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
export const PATTERNS: readonly string[] = ["chain"];

/** Supported features of workflows. */
export const SUPPORTED: { readonly [feature: string]: readonly string[] } = {
  version: ["0"],
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
  const issues = [...runtimeIssues(spec), ...patternIssues(spec), ...toolIssues(spec, known)];
  const supported = issues.length === 0;
  return {
    supported,
    issues,
    normalized: supported ? normalize(spec, known) : null,
    spec_fingerprint: createHash("sha256").update(canonical(spec)).digest("hex"),
  };
}

function runtimeIssues({ runtime: { provider } }: Workflow): CapabilityIssue[] {
  if (PROVIDERS.includes(provider)) return [];
  const remediation = `Use one of ${PROVIDERS.join(", ")}; other servers that speak OpenAI's protocol are reached with openai and a host`;
  return [{ pointer: "/runtime/provider", reason: `Provider '${provider}' is not supported`, remediation }];
}

function patternIssues({ pattern: { type } }: Workflow): CapabilityIssue[] {
  if (PATTERNS.includes(type)) return [];
  const remediation = `Write it as ${PATTERNS.join(", ")}: steps that run one after the other`;
  return [{ pointer: "/pattern/type", reason: `Pattern '${type}' is not supported`, remediation }];
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
  const named = TOOL_KINDS.flatMap((kind) => spec.tools[kind] ?? []);
  const ids = named.map(({ callable }) => registry.find(callable)?.id).filter((id) => id !== undefined);
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
