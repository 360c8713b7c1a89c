import { GloveboxError, StoreError } from "../../base/errors.ts";
import { isObject, memberOf, pointerSegment } from "../../base/json.ts";
import { type PieceWork, runPieces } from "../../base/reading/run-pieces.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import { type Finding, findUncovered, type Grants } from "../../broker/grants.ts";
import type { Policy } from "../../broker/policy.ts";
import { simulateAsk, type SimulatedAnswer } from "../../broker/simulated-ask.ts";
import type { CallFilter, CallSummary, StoredAsk, StoredCall } from "../../store/calls/call-record.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { CallHistory } from "../call-history.ts";
import { type PolicyText, readInThread, type TextPlace } from "./policy-thread.ts";
import { type GrantLine, grantLines, identityOf, lintPolicy, lintTool } from "../explanation.ts";

/** A policy to examine, and the calls for the examination. */
export interface PolicySimulationRequest {
  /** YAML or JSON: the rules, `{ rules: [...] }`, or a configuration with a `policy`. At most 64 Ki characters. */
  readonly policy: string;
  readonly call?: SimulatedCall;
  /** Earliest begin of the stored calls that are compared. Default: 24 hours ago. */
  readonly since?: CallFilter["since"];
  /** Number of stored calls that are compared, newest first, at most 1,000. Default 1,000. */
  readonly limit?: number;
}

export interface SimulatedCall {
  readonly tool?: string;
  /** Default: the tenant of the stored call, or none. */
  readonly tenant?: string;
  /** Ignored, as no tool runs. */
  readonly arguments?: unknown;
  /** Id of a stored call, whose capability calls are compared. */
  readonly id?: string;
}

/** A mistake in the policy, a rule without effect, or a request of a tool that no rule grants. */
export interface PolicyFinding extends Finding {
  /** `null` for the policy. */
  readonly tool: string | null;
  /** Place in the text of the policy, from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** A capability call of the stored call, with the policy's answer. */
export type SimulatedAsk = Pick<StoredAsk, "capability" | "method" | "target"> &
  SimulatedAnswer & { /** As it was answered. */ readonly was: StoredAsk["outcome"] };

/** A capability call of a stored call with another answer by the policy. */
export interface PolicyChange extends Pick<StoredAsk, "capability" | "method" | "target"> {
  /** The stored call, its tool and its tenant. */
  readonly id: string;
  readonly tool: string;
  readonly tenant: string;
  readonly was: StoredAsk["outcome"];
  readonly would: SimulatedAnswer["outcome"];
  /** The rule that would grant it, or else the rule that did. */
  readonly rule: string | null;
}

export interface PolicySimulation {
  readonly findings: readonly PolicyFinding[];
  /** Grants of the tool of the call, with their rules. */
  readonly grants: readonly GrantLine[];
  /** Capability calls of the stored call. */
  readonly asks: readonly SimulatedAsk[];
  /** Capability calls of stored calls with another answer, at most 100. */
  readonly changes: readonly PolicyChange[];
  /** Number of compared stored calls with details, and whether those are all since then. */
  readonly compared: { readonly calls: number; readonly isComplete: boolean };
}

interface SimulationHost {
  readonly registry: ToolRegistry;
  readonly broker: BrokerClient;
  readonly calls: CallHistory;
}

const POLICY_MAX = 64 * 1024;
const DAY_MS = 24 * 60 * 60 * 1_000;
const CALLS_MAX = 1_000;
const PAGE = 200;
/** Maximum details that are read at once. */
const READS = 8;
const CHANGES_MAX = 100;
const FINDINGS_MAX = 200;
/** Maximum mistakes of a policy: each costs one more reading. */
const MISTAKES_MAX = 20;
const DEADLINE_MS = 5_000;
/** The message of a mistake: its setting, a pointer within it, and the text about it. */
const MESSAGE = /^policy((?:\.\w+|\[\d+\])*)((?:\/[^:\s]*)?)(?:: | )([\s\S]*)$/;

/** Tenant and tools of the stored calls that a caller may see; `null` for none. */
export type WhoseCalls = Pick<CallFilter, "tenant" | "tools"> | null;

/**
 * Examines a policy without putting it in force: its mistakes, its grants, and its answers to stored calls. Runs no
 * tool and writes nothing. Rejects with a `GloveboxError`: `invalid_arguments`, `tool_not_found`.
 */
export async function simulatePolicy(
  host: SimulationHost,
  request: PolicySimulationRequest,
  whose: WhoseCalls,
): Promise<PolicySimulation> {
  const { policy: text, call, since = Date.now() - DAY_MS, limit = CALLS_MAX } = checked(request);
  const work = { work: host.broker.work, payer: host.broker.accounts.of(whose?.tenant ?? "") };
  const read = await runPieces(readPolicy(await readInThread(text), host.broker), work);
  const none = { grants: [], asks: [], changes: [], compared: { calls: 0, isComplete: true } };
  const stored = call?.id === undefined || whose === null ? undefined : await storedCall(host.calls, call.id, whose);
  if (call?.id !== undefined && stored === undefined)
    throw notFound(`there is no stored call "${call.id.slice(0, 64)}"`);
  const name = call?.tool ?? stored?.tool;
  const tenant = call?.tenant ?? stored?.tenant ?? "";
  const tool = name === undefined ? undefined : host.registry.get(name, tenant);
  if (name !== undefined && tool === undefined) throw notFound(`there is no tool "${name.slice(0, 128)}"`);
  if (read.grants === null) return { findings: read.findings, ...none };
  const { grants } = read;
  const tools = tool === undefined ? toolsOf(host.registry) : [tool];
  const lint = await runPieces(findings(grants, tools, tool === undefined ? null : tenant), work);
  const comparison = new Comparison(host, grants);
  const changes = whose === null ? none : await comparison.compare({ since, limit, whose }, work);
  return {
    findings: [...read.findings, ...lint].slice(0, FINDINGS_MAX),
    grants: tool === undefined ? [] : grantLines(tool, tenant, { grants }),
    asks: tool === undefined ? [] : comparison.asksOf(stored, tool, tenant),
    changes: changes.changes,
    compared: changes.compared,
  };
}

function checked(request: PolicySimulationRequest): PolicySimulationRequest {
  const { policy, call, limit } = isObject(request)
    ? (request as unknown as PolicySimulationRequest)
    : { policy: null };
  if (typeof policy !== "string" || policy.length > POLICY_MAX) {
    throw wrong(`policy must be a text of YAML or JSON, of at most ${POLICY_MAX} characters`);
  }
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 0 || limit > CALLS_MAX)) {
    throw wrong(`limit must be a whole number from 0 to ${CALLS_MAX}`);
  }
  if (call === undefined) return request;
  const texts = isObject(call) ? ["tool", "tenant", "id"].map((name) => memberOf(call, name)) : [null];
  if (!texts.every((one) => one === undefined || (typeof one === "string" && one.length <= 256))) {
    throw wrong("call must be an object with tool, tenant and id, each a text of at most 256 characters");
  }
  return request;
}

function wrong(message: string): GloveboxError {
  return new GloveboxError("invalid_arguments", message);
}

function notFound(message: string): GloveboxError {
  return new GloveboxError("tool_not_found", message);
}

function toolsOf(registry: ToolRegistry): readonly RegisteredTool[] {
  return registry.list().flatMap(({ name }) => registry.get(name) ?? []);
}

/** The grants of a policy; `null`, and its mistakes, if it has some. */
function* readPolicy(
  text: PolicyText,
  broker: BrokerClient,
): Generator<undefined, { readonly grants: Grants | null; readonly findings: readonly PolicyFinding[] }, undefined> {
  if (text.kind === "mistakes") {
    const findings = text.mistakes.map(({ message, place }): PolicyFinding => ({
      tool: null,
      pointer: "/policy",
      reason: message,
      remediation: "write it as YAML or JSON",
      ...place,
    }));
    return { grants: null, findings };
  }
  let { policy } = text;
  const mistakes: PolicyFinding[] = [];
  while (mistakes.length < MISTAKES_MAX) {
    const made = grantsOrMistake(policy, broker);
    if (typeof made !== "string") return { grants: mistakes.length === 0 ? made : null, findings: mistakes };
    const { path, finding } = mistakeOf(made);
    mistakes.push({ ...finding, ...placeOf(text.places, path) });
    // Each rule with a mistake is left out, so that those of the others are found.
    const [list, index = ""] = path;
    const rules = isObject(policy) ? policy["rules"] : undefined;
    if (list !== "rules" || !Array.isArray(rules) || rules[Number(index)] === undefined) break;
    policy = { ...(policy as object), rules: rules.with(Number(index), { allow: {} }) as unknown };
    yield;
  }
  return { grants: null, findings: mistakes };
}

/** The place of a part of the text, or of its surroundings. */
function placeOf(places: ReadonlyMap<string, TextPlace>, path: readonly string[]): TextPlace | null {
  const place = places.get(JSON.stringify(path)) ?? null;
  return place !== null || path.length === 0 ? place : placeOf(places, path.slice(0, -1));
}

function grantsOrMistake(policy: unknown, broker: BrokerClient): Grants | string {
  try {
    return broker.grantsOf(policy as Policy);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return error.message;
  }
}

/** The finding of an error's message: `policy.rules[0].allow.fetch/origins/0: is an origin`. */
function mistakeOf(message: string): { readonly path: readonly string[]; readonly finding: PolicyFinding } {
  const [, names = "", rest = "", said = message] = MESSAGE.exec(message) ?? [];
  const inner = rest.split("/").slice(1);
  const path = [...names.split(/[.[\]]+/).filter((name) => name !== ""), ...inner];
  const pointer = ["policy", ...path].map(pointerSegment).join("");
  return {
    path,
    finding: { tool: null, pointer, reason: message.slice(0, 500), remediation: `it ${said.slice(0, 500)}` },
  };
}

/** Rules without effect, and requests that no rule grants: of all tenants if `tenant` is `null`. */
function* findings(
  grants: Grants,
  tools: readonly RegisteredTool[],
  tenant: string | null,
): Generator<undefined, readonly PolicyFinding[], undefined> {
  const found: PolicyFinding[] = lintPolicy({ grants }).map((finding) => ({ tool: null, ...finding }));
  for (const tool of tools) {
    const { capabilities } = tool;
    const own =
      tenant === null
        ? lintTool(tool, { grants })
        : findUncovered(grants, { ...identityOf(tool), tenant }, capabilities);
    found.push(...own.map((finding) => ({ tool: tool.info.name, ...finding })));
    if (found.length >= FINDINGS_MAX) break;
    yield;
  }
  return found;
}

async function storedCall(
  calls: CallHistory,
  id: string,
  whose: NonNullable<WhoseCalls>,
): Promise<StoredCall | undefined> {
  return calls.status() === undefined ? undefined : calls.get(id, whose);
}

/** Stored calls under another policy. */
class Comparison {
  readonly #host: SimulationHost;
  readonly #grants: Grants;

  constructor(host: SimulationHost, grants: Grants) {
    this.#host = host;
    this.#grants = grants;
  }

  asksOf(stored: StoredCall | undefined, tool: RegisteredTool, tenant: string): readonly SimulatedAsk[] {
    return (stored?.detail?.asks ?? []).map((ask) => {
      const { capability, method, target, outcome: was } = ask;
      return { capability, method, target, was, ...this.#answer(ask, tool, tenant) };
    });
  }

  #answer(ask: StoredAsk, tool: RegisteredTool, tenant: string): SimulatedAnswer {
    const subject = { ...identityOf(tool), tenant, requested: tool.capabilities };
    return simulateAsk(this.#grants, subject, ask, ask.outcome === "denied" ? null : this.#host.broker.grants);
  }

  /** Compares stored calls, newest first, until they end, the limit is reached, or five seconds have passed. */
  async compare(
    { since, limit, whose }: { since: CallFilter["since"]; limit: number; whose: NonNullable<WhoseCalls> },
    work: PieceWork,
  ): Promise<Pick<PolicySimulation, "changes" | "compared">> {
    const { calls } = this.#host;
    const changes: PolicyChange[] = [];
    let [seen, looked] = [0, 0];
    let cursor: string | null = null;
    const endMs = performance.now() + DEADLINE_MS;
    const isLate = (): boolean => performance.now() > endMs || changes.length >= CHANGES_MAX;
    const answer = (isComplete: boolean) => ({
      changes: changes.slice(0, CHANGES_MAX),
      compared: { calls: looked, isComplete },
    });
    if (calls.status() === undefined || limit === 0) return answer(limit !== 0);
    try {
      do {
        const filter: CallFilter = {
          ...whose,
          limit: Math.min(PAGE, limit - seen),
          ...(since === undefined ? {} : { since }),
        };
        const page = await calls.list(cursor === null ? filter : { ...filter, cursor });
        ({ cursor } = page);
        seen += page.calls.length;
        for (let at = 0; at < page.calls.length; at += READS) {
          if (isLate()) return answer(false);
          const details = await Promise.all(page.calls.slice(at, at + READS).map((one) => this.#detail(one, whose)));
          for (const one of details) {
            if (one === undefined || one.detail === null) continue;
            looked++;
            changes.push(...(await work.work.run(work.payer, () => this.#changesOf(one))));
          }
        }
      } while (cursor !== null && seen < limit);
      return answer(cursor === null);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return answer(false);
    }
  }

  /** A call is not found if a later one has the same id. */
  async #detail({ id, beginMs }: CallSummary, whose: NonNullable<WhoseCalls>): Promise<StoredCall | undefined> {
    const found = await this.#host.calls.get(id, whose);
    return found?.beginMs === beginMs ? found : undefined;
  }

  #changesOf({ id, tool: name, tenant, detail }: StoredCall): readonly PolicyChange[] {
    const tool = this.#host.registry.get(name, tenant);
    if (tool === undefined || detail === null) return [];
    const told = new Set<string>();
    return detail.asks.flatMap((ask): PolicyChange[] => {
      const { capability, method, target, outcome: was } = ask;
      const { outcome: would, rule } = this.#answer(ask, tool, tenant);
      const isSame = (was === "denied") === (would === "denied") && would !== "unknown";
      const place = JSON.stringify([capability, method, target, was]);
      if (isSame || (was === "denied" && would === "unknown") || told.has(place)) return [];
      told.add(place);
      return [{ id, tool: name, tenant, capability, method, target, was, would, rule: rule ?? ask.rule }];
    });
  }
}
