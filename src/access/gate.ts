import type { Engine } from "../engine.ts";
import { type ErrorCode, toolError } from "../errors.ts";
import { type ExecuteOptions, isAmong } from "../execute-options.ts";
import type { Explanation } from "../explanation.ts";
import { emptyMetadata, failure, type ToolCall, type ToolResult } from "../result.ts";
import type { ToolInfo } from "../tool/definition.ts";
import { Account } from "./account.ts";
import type { Standing } from "./budget.ts";
import type { Caller } from "./caller.ts";
import type { KeyGrant } from "./key-options.ts";
import type { Keys } from "./keys.ts";

/** Whoever may not administer may not go before others either. */
const PRIORITY_MAX = 0;
const NO_STANDINGS: readonly Standing[] = Object.freeze([]);

/** What a key may do, and what it has used of it. */
interface Holder {
  readonly grant: KeyGrant;
  readonly account: Account;
}

/** What doors ask of an engine on behalf of a caller: only what that caller may have. */
export class Gate {
  readonly #engine: Engine;
  /** By the names of their keys. */
  readonly #holders: ReadonlyMap<string, Holder>;

  constructor(engine: Engine, keys?: Keys) {
    this.#engine = engine;
    const grants = keys?.grants() ?? [];
    this.#holders = new Map(grants.map((grant) => [grant.name, { grant, account: new Account(grant) }]));
  }

  /**
   * Runs a call as the caller may: as its tenant, with its tools, below its ceilings, and charged to it. A repeat of a
   * call with the same `idempotencyKey` is a call as well, but takes no processor time. Never rejects.
   */
  async execute(caller: Caller, call: ToolCall, options: ExecuteOptions): Promise<ToolResult> {
    if (caller.tenant !== null && options.tenant !== undefined && options.tenant !== caller.tenant) {
      return this.#refuse(caller, call, "forbidden", "the key's calls are of a tenant that is not options.tenant");
    }
    const tenant = caller.tenant ?? options.tenant;
    const own = tenant === undefined ? options : { ...options, tenant };
    const holder = this.#holderOf(caller);
    if (holder === undefined) return this.#engine.execute(call, own);
    const refusal = await holder.account.take();
    if (refusal !== null) {
      const { message, ...details } = refusal;
      return this.#refuse(caller, call, "rate_limited", message, details);
    }
    const result = await this.#engine.execute(call, this.#narrow(caller, holder, own));
    this.#engine.tell("key:call", { key: holder.grant.name, code: result.error?.code ?? "ok" });
    return result;
  }

  /** The tools that a caller may call. */
  list(caller: Caller): readonly ToolInfo[] {
    const tools = this.#holderOf(caller)?.grant.tools;
    const all = this.#engine.list();
    return tools === undefined ? all : all.filter(({ name }) => isAmong(tools, name));
  }

  get(caller: Caller, name: string): ToolInfo | undefined {
    return isAmong(this.#holderOf(caller)?.grant.tools, name) ? this.#engine.get(name) : undefined;
  }

  /** What a caller has left of its rate and its quota; of each that it has one. */
  async standings(caller: Caller): Promise<readonly Standing[]> {
    return (await this.#holderOf(caller)?.account.standings()) ?? NO_STANDINGS;
  }

  #holderOf({ key }: Caller): Holder | undefined {
    return key === null ? undefined : this.#holders.get(key);
  }

  #narrow({ roles }: Caller, { grant, account }: Holder, options: ExecuteOptions): ExecuteOptions {
    const { name, tools, limits } = grant;
    const { priority } = options;
    const isRaised = priority !== undefined && priority > PRIORITY_MAX && !roles.has("admin");
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
    code: Extract<ErrorCode, "forbidden" | "rate_limited">,
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
    return this.#engine.explain(name, { tenant: caller.tenant ?? tenant });
  }
}

const SHOWN_MAX = 256;

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, SHOWN_MAX) : "";
}
