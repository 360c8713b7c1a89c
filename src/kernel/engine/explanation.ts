import type { BrokerClient } from "../broker/thread/broker-client.ts";
import { type Finding, findUncovered, type Grants } from "../broker/grants.ts";
import { type PolicySubject, ruleAt } from "../broker/policy.ts";
import { pointerSegment } from "../base/json.ts";
import { type Bounds, DEFAULT_LIMITS, type Limits } from "../base/limits.ts";
import type { Executor } from "../executor/executor.ts";
import { canMeasureThreads } from "../executor/thread-times.ts";
import type { NodeName } from "../tool/bundle/used-names.ts";
import type { ToolInfo } from "../tool/definition.ts";
import type { ToolRegistry } from "../tool/registry.ts";
import type { RegisteredTool } from "../tool/registered-tool.ts";

/** One grant of a tool, and the rule it comes from. */
export interface GrantLine {
  readonly capability: string;
  /** Human-readable description. */
  readonly granted: string;
  /** `policy.rules[2]` */
  readonly from: string;
}

export interface LimitLine {
  readonly limit: keyof Limits;
  readonly value: number;
  /** Source of the value: `default`, the engine's `limits`, the `tool`, `codeMode.limits`, or the ceiling `maxLimits`. */
  readonly from: "default" | "limits" | "tool" | "codeMode" | "maxLimits";
  /** The tool's own declaration, if that is more than it may have. */
  readonly declared?: number;
}

/** A tool, and whether programs of a caller may call it. */
export interface ProgramTool {
  readonly tool: string;
  readonly isCallable: boolean;
  /** Source of the decision: `codeMode.tools[1]`, `key.tools[0]`, and for its capabilities `policy.rules[2]`. */
  readonly from: readonly string[];
  /** The reason for which programs may not call it. */
  readonly reason?: string;
}

/** The tools that programs of a caller may call. */
export interface ProgramExplanation {
  /** Whether the caller may run programs at all. */
  readonly mayRun: boolean;
  readonly callable: number;
  readonly total: number;
  /** The first 500, those that may be called before the others. */
  readonly tools: readonly ProgramTool[];
}

/** A tool's grants and limits with their sources, and its requests that no rule grants. */
export interface Explanation {
  readonly tool: string;
  readonly tenant: string;
  readonly isolation: string;
  /** The trust group whose processes run the calls; `null` for the executors `threads` and `queue`. */
  readonly group: string | null;
  readonly grants: readonly GrantLine[];
  readonly limits: readonly LimitLine[];
  /**
   * Measurement of `cpuMs` while a call computes: `measured` per thread, or `estimated` if this machine's system only
   * reports the time of the whole process (not Linux, or gVisor). Then elapsed time is divided by the process's share
   * of the processors over the last second, at most by ten. The charge of a call is measured in either case.
   */
  readonly processorTime: "measured" | "estimated";
  /** The side that applies the tool's schemas, the reason, and the cost of its module in each call; see `ToolInfo`. */
  readonly schemas: Pick<ToolInfo, "parses" | "parsesReason" | "wholeReason"> & { readonly evaluationMs: number };
  readonly findings: readonly Finding[];
  /** Node's names that the tool uses, with a replacement `instead` of those that refuse; see `ToolInfo`. */
  readonly node: readonly NodeName[];
  /** Only of `run_code`: the tools that programs may call. */
  readonly program?: ProgramExplanation;
}

/** Grants in force, or those of a policy that is only examined. */
type WithGrants = Pick<BrokerClient, "grants">;

/** The parts of an engine that decide how a call runs. */
export interface ExplainedParts {
  readonly broker: { readonly grants: Grants };
  readonly bounds: Bounds;
  readonly executor: Pick<Executor, "trustGroup">;
}

/** Explains the grants and limits of a tool's calls for a tenant. */
export function explainTool(tool: RegisteredTool, tenant: string, parts: ExplainedParts): Explanation {
  const { broker, bounds, executor } = parts;
  const { name, isolation } = tool.info;
  return {
    tool: name,
    tenant,
    isolation,
    group: executor.trustGroup(tool.script, tenant),
    grants: grantLines(tool, tenant, broker),
    limits: (Object.keys(DEFAULT_LIMITS) as (keyof Limits)[]).map((limit) => limitLine(tool, limit, bounds)),
    processorTime: canMeasureThreads() ? "measured" : "estimated",
    schemas: schemasOf(tool.info),
    findings: findUncovered(broker.grants, { ...identityOf(tool), tenant }, tool.capabilities),
    node: tool.info.node ?? [],
  };
}

function schemasOf({ parses, parsesReason, wholeReason, script: { evaluationMs } }: ToolInfo): Explanation["schemas"] {
  return {
    parses,
    ...(parsesReason === undefined ? {} : { parsesReason }),
    ...(wholeReason === undefined ? {} : { wholeReason }),
    evaluationMs,
  };
}

/** Capability requests of a tool that the policy grants to no tenant. */
export function lintTool(tool: RegisteredTool, broker: WithGrants): readonly Finding[] {
  return findUncovered(broker.grants, { ...identityOf(tool), tenant: null }, tool.capabilities);
}

/** A finding with its tool; `null` for a finding about the policy. */
export interface ToolFinding extends Finding {
  readonly tool: string | null;
}

/** All requests and rules without effect. */
export function lintAll(registry: ToolRegistry, broker: WithGrants): readonly ToolFinding[] {
  const ofTools = registry.list().flatMap(({ name }) => {
    const tool = registry.get(name);
    return tool === undefined ? [] : lintTool(tool, broker).map((finding) => ({ tool: name, ...finding }));
  });
  return [...lintPolicy(broker).map((finding) => ({ tool: null, ...finding })), ...ofTools];
}

/** Policy rules without effect. */
export function lintPolicy({ grants }: WithGrants): readonly Finding[] {
  return grants.unknown().map(({ rule, name }) => ({
    pointer: `/policy/rules/${rule}/allow${pointerSegment(name)}`,
    reason: `the engine has no capability "${name.slice(0, 64)}"`,
    remediation: "correct its name, or add it to the engine option capabilities",
  }));
}

/** The tool as rules of the policy see it. */
export function identityOf({ info }: RegisteredTool): Omit<PolicySubject, "tenant"> {
  const { name, tags, registrant, digest } = info;
  return { tool: name, tags, registrant, digest };
}

export function grantLines(tool: RegisteredTool, tenant: string, broker: ExplainedParts["broker"]) {
  const { capabilities: requested } = tool;
  return Object.keys(requested).flatMap((capability): GrantLine[] => {
    const subject = { ...identityOf(tool), tenant, requested, narrowed: undefined };
    const decision = broker.grants.decide(subject, capability);
    if (!decision.isGranted) return [];
    const { grants } = decision.capability;
    return decision.granted.map(({ rule, value }) => ({
      capability,
      granted: grants.describe(value),
      from: ruleAt(rule),
    }));
  });
}

function limitLine(
  { limits, askedLimits }: RegisteredTool,
  limit: keyof Limits,
  { maxLimits, toolMaxLimits }: Bounds,
): LimitLine {
  const value = limits[limit];
  const declared = askedLimits[limit];
  if (declared !== undefined && declared <= toolMaxLimits[limit]) return { limit, value, from: "tool" };
  const cut = declared === undefined ? {} : { declared };
  const isCeiling = declared !== undefined && toolMaxLimits[limit] === maxLimits[limit];
  if (isCeiling) return { limit, value, from: "maxLimits", ...cut };
  if (value === DEFAULT_LIMITS[limit]) return { limit, value, from: "default", ...cut };
  return { limit, value, from: value === maxLimits[limit] ? "maxLimits" : "limits", ...cut };
}
