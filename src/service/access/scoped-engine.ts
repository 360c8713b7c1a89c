import { isDeepStrictEqual } from "node:util";
import type { ToolRunner } from "../../tool/contracts/runner.ts";
import type { Engine } from "../../engine/engine.ts";
import { toolError } from "../../base/errors.ts";
import type { RequestRefusal } from "../../engine/telemetry/events.ts";
import { type ExecuteOptions, isAmong } from "../../engine/execute-options.ts";
import type { Explanation } from "../../engine/explanation.ts";
import { emptyMetadata, failure, type ToolCall, type ToolResult } from "../../base/result.ts";
import type { ToolInfo } from "../../tool/definition.ts";
import { Account } from "./account.ts";
import type { Standing } from "./budget.ts";
import type { Caller, Role } from "./caller.ts";
import type { KeyGrant } from "./key-options.ts";
import { Keys } from "./keys.ts";

/** Whoever may not administer may not go before others either. */
const PRIORITY_MAX = 0;
const NO_STANDINGS: readonly Standing[] = Object.freeze([]);

/** What a key may do, and what it has used of it. */
interface Holder {
  readonly grant: KeyGrant;
  readonly account: Account;
}

/** Runs tools as one caller may, and tells when there are others. */
export interface CallerRunner extends ToolRunner {
  on(event: "tool:register" | "tool:unregister", listener: () => void): void;
  off(event: "tool:register" | "tool:unregister", listener: () => void): void;
}

/** What doors ask of an engine on behalf of a caller: only what that caller may have. */
export class ScopedEngine {
  readonly #engine: Engine;
  readonly #keys: Keys;
  /** Of the keys that there were when it last looked. */
  #grants: ReadonlyMap<string, KeyGrant> | null = null;
  #holders: ReadonlyMap<string, Holder> = new Map();

  constructor(engine: Engine, keys = new Keys([])) {
    this.#engine = engine;
    this.#keys = keys;
  }

  /**
   * Runs a call as the caller may: as its tenant, with its tools, below its ceilings, and charged to it. A repeat of a
   * call with the same `idempotencyKey` is a call as well, but takes no processor time. Never rejects.
   */
  async execute(caller: Caller, call: ToolCall, options: ExecuteOptions): Promise<ToolResult> {
    const holder = this.#holderOf(caller);
    // A door may serve a caller for longer than its key means the same.
    const { tenant: own } = holder?.grant ?? caller;
    if (own !== null && options.tenant !== undefined && options.tenant !== own) {
      return this.#refuse(caller, call, "forbidden", "the key belongs to another tenant than options.tenant");
    }
    const tenant = own ?? options.tenant;
    const whose = tenant === undefined ? options : { ...options, tenant };
    if (caller.key === null) return this.#engine.execute(call, whose);
    if (holder === undefined) return this.#refuse(caller, call, "unauthorized", "the key has been removed");
    const refusal = await holder.account.take();
    if (refusal !== null) {
      const { message, ...details } = refusal;
      return this.#refuse(caller, call, "rate_limited", message, details);
    }
    const result = await this.#engine.execute(call, this.#narrow(holder, whose));
    this.#engine.tell("key:call", { key: holder.grant.name, code: result.error?.code ?? "ok" });
    return result;
  }

  /** What one caller has of all this: for doors that serve a caller for longer than a request. */
  runnerFor(caller: Caller): CallerRunner {
    return {
      list: () => this.list(caller),
      get: (name) => this.get(caller, name),
      execute: (call, options = {}) => this.execute(caller, call, options),
      on: (event, listener) => void this.#engine.on(event, listener),
      off: (event, listener) => void this.#engine.off(event, listener),
    };
  }

  /** Whether a caller that was let in before would be let in now. */
  stillAdmits(caller: Caller, role: Role): boolean {
    return (
      caller.key === null ||
      (this.#keys.stillKnows(caller) && this.#holderOf(caller)?.grant.roles.includes(role) === true)
    );
  }

  /** The tools that a caller may call. */
  list(caller: Caller): readonly ToolInfo[] {
    return this.#engine.list().filter(({ name }) => this.mayName(caller, name));
  }

  get(caller: Caller, name: string): ToolInfo | undefined {
    return this.mayName(caller, name) ? this.#engine.get(name) : undefined;
  }

  /** What a caller has left of its rate and its quota; of each that it has one. */
  async standings(caller: Caller): Promise<readonly Standing[]> {
    return (await this.#holderOf(caller)?.account.standings()) ?? NO_STANDINGS;
  }

  /** Whether a name is among those of the tools that a caller may have to do with, whether there is such a tool or not. */
  mayName(caller: Caller, tool: string): boolean {
    if (caller.key === null) return true;
    const holder = this.#holderOf(caller);
    return holder !== undefined && isAmong(holder.grant.tools, tool);
  }

  /** Nothing where there is no key, or where it is gone. */
  #holderOf({ key }: Caller): Holder | undefined {
    const { grants } = this.#keys;
    if (grants !== this.#grants) {
      const former = this.#holders;
      this.#holders = new Map([...grants].map(([name, grant]) => [name, hold(grant, former.get(name))]));
      this.#grants = grants;
    }
    return key === null ? undefined : this.#holders.get(key);
  }

  #narrow({ grant, account }: Holder, options: ExecuteOptions): ExecuteOptions {
    const { name, roles, tools, limits } = grant;
    const { priority } = options;
    const isRaised = priority !== undefined && priority > PRIORITY_MAX && !roles.includes("admin");
    return {
      ...options,
      ...(isRaised ? { priority: PRIORITY_MAX } : {}),
      ...(tools === undefined ? {} : { tools }),
      ...(limits === undefined ? {} : { maxLimits: limits }),
      onCpu: (cpuMs) => {
        account.charge(cpuMs);
        this.#engine.tell("key:cpu", { key: name, cpuMs });
      },
    };
  }

  /** A call that never was one. */
  #refuse(
    { key }: Caller,
    call: ToolCall,
    code: RequestRefusal["code"],
    reason: string,
    details?: unknown,
  ): ToolResult {
    this.#engine.tell("door:refuse", { code, key, address: null, reason });
    if (key !== null) this.#engine.tell("key:call", { key, code });
    // What a caller sends may be anything.
    const { id, name }: { readonly id?: unknown; readonly name?: unknown } = call ?? {};
    const metadata = emptyMetadata(textOf(id), textOf(name), 0);
    return failure(toolError(code, reason, details), metadata);
  }

  /** What a tool's calls are granted for the caller's tenant; for the one it names, where it may say so itself. */
  explain(caller: Caller, name: string, tenant: string): Explanation | undefined {
    if (this.get(caller, name) === undefined) return undefined;
    return this.#engine.explain(name, { tenant, ...tenantOf(this.#holderOf(caller)?.grant ?? caller) });
  }
}

/** What was used stays used where what may be used is the same. */
function hold(grant: KeyGrant, former: Holder | undefined): Holder {
  const isSame = isDeepStrictEqual([grant.rate, grant.quota], [former?.grant.rate, former?.grant.quota]);
  return { grant, account: former !== undefined && isSame ? former.account : new Account(grant) };
}

/** The tenant, where whoever calls may not say which. */
function tenantOf({ tenant }: Pick<Caller, "tenant">): { readonly tenant?: string } {
  return tenant === null ? {} : { tenant };
}

const SHOWN_MAX = 256;

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, SHOWN_MAX) : "";
}
