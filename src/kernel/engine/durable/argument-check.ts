import { hash } from "node:crypto";
import { BoundedCache } from "../../base/bounded-cache.ts";
import { type Failure, GloveboxError } from "../../base/errors.ts";
import type { JsonSchema } from "../../base/json.ts";
import { DEFAULT_LIMITS } from "../../base/limits.ts";
import { NO_CONFIG, SCRIPT_EXPORTS, type ToolScript } from "../../base/protocol/script.ts";
import { compileChecks } from "../../base/schema/checks.ts";
import { describeViolations } from "../../base/schema/violation.ts";
import type { TenantAccounts } from "../../base/tenant-account.ts";
import { CallFailure } from "../../broker/capabilities/capability.ts";
import type { Executor } from "../../executor/executor.ts";
import type { CallWait, DurableCall } from "../../store/calls/durable/durable-call.ts";
import { buildChecks } from "../../tool/build/checks.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { Slot } from "../schedule/queue-entry.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import { dataText } from "./effect-answer.ts";

/** The same for the data of an approval, whose schema is that of its output. */
const DATA_TEXT = `const ${SCRIPT_EXPORTS} = { default: ({ data }) => data };`;
/** A tool that returns its arguments, with their defaults: its isolate checks them before. */
const TEXT = `const ${SCRIPT_EXPORTS} = { default: (input) => input };`;
const RULES_MAX = 1_000;
const DATA_SCHEMAS_MAX = 50;

interface CheckParts {
  readonly executor: Pick<Executor, "run">;
  readonly scheduler: Pick<Scheduler, "add" | "lend">;
  readonly accounts: Pick<TenantAccounts, "of">;
  readonly nextCallNumber: () => number;
}

/** Arguments with their defaults as JSON, or their mistakes. */
export type CheckedArguments =
  { readonly kind: "valid"; readonly args: string } | { readonly kind: "invalid"; readonly failure: Failure };

/** The call whose arguments are checked. */
type CheckedCall = Pick<EngineCall, "callId" | "tool" | "tenant" | "limits" | "options" | "parent">;

/** The call on whose behalf a value is checked. */
type CheckingCall = Omit<CheckedCall, "tool"> & { readonly tool: { readonly info: { readonly name: string } } };

/** Checks arguments against schemas in isolates, as for calls, in a slot and charged to their tenant. */
export class ArgumentChecks {
  readonly #parts: CheckParts;
  /** Scripts that check the conditions of rules. */
  readonly #rules = new Map<JsonSchema, ToolScript>();
  #lastRule = 0;
  /** Scripts that check the data of approvals, by the texts of their schemas. */
  readonly #data = new BoundedCache<Promise<ToolScript>>(DATA_SCHEMAS_MAX);

  constructor(parts: CheckParts) {
    this.#parts = parts;
  }

  /** Checks arguments against the schema of the call's tool, and whether the shown arguments are the ones that run. */
  async check(call: CheckedCall, args: string): Promise<CheckedArguments> {
    const { script } = call.tool;
    const { registrant, digest, memoryMb, name, version } = script;
    const who = { ...(registrant === undefined ? {} : { registrant }), ...(digest === undefined ? {} : { digest }) };
    const checks = { input: script.checks.input, output: "" };
    const checking = { ...PLAIN, ...who, name, version, memoryMb, key: `${script.key} arguments`, checks };
    const checked = await this.#run(call, checking, args);
    // Its isolate cannot return them.
    return checked.kind === "invalid" && checked.failure.code === "invalid_output" ? INFINITE : checked;
  }

  /** Whether arguments match the condition of a rule. */
  async matches(call: CheckingCall, when: JsonSchema, args: string): Promise<boolean> {
    const checked = await this.#run(call, this.#scriptOf(when), args);
    // An undecided condition requires an approval.
    return checked.kind === "valid" || checked.failure.code !== "invalid_arguments";
  }

  /** Reads the schema of the data of an approval. Throws a `CallFailure` that names its mistake. */
  async requireSchema(tenant: string, schema: JsonSchema): Promise<void> {
    try {
      await this.#dataScript(tenant, schema);
    } catch (error) {
      if (!(error instanceof GloveboxError)) throw error;
      throw new CallFailure("invalid_arguments", error.message.replaceAll("outputSchema", "schema"));
    }
  }

  /** JSON of the data of a decision, if the call may get it. Throws a `RangeError` or `GloveboxError` otherwise. */
  async dataOf(
    { callId, tool: name, tenant }: Pick<DurableCall, "callId" | "tool" | "tenant">,
    { schema, state }: Pick<CallWait & { readonly kind: "approval" }, "schema" | "state">,
    data: unknown,
  ): Promise<string | null> {
    const text = data === undefined ? null : dataText("data", data);
    if (schema === null || state !== "open") return text;
    if (text === null) throw new GloveboxError("invalid_arguments", "this approval needs data that its schema allows");
    const script = await this.#dataScript(tenant, schema);
    const call = { callId, tool: { info: { name } }, tenant, limits: DEFAULT_LIMITS, options: {}, parent: null };
    const checked = await this.#run(call, script, `{"data":${text}}`);
    if (checked.kind === "valid") return text;
    const { code, violations, message } = checked.failure;
    if (violations === undefined) throw new GloveboxError(code, message);
    const words = `the data does not match its schema: ${describeViolations(violations)}`;
    throw new GloveboxError("invalid_arguments", words, { violations });
  }

  /** The schema comes from a call's code: a build process compiles it. Rejects with a `GloveboxError`. */
  #dataScript(tenant: string, schema: JsonSchema): Promise<ToolScript> {
    const key = `data ${hash("sha256", JSON.stringify(schema))}`;
    const known = this.#data.get(key);
    if (known !== undefined) return known;
    const made = buildChecks(true, schema, `approvals of ${tenant}`).then(
      (checks) => ({ ...PLAIN, text: DATA_TEXT, name: "(data)", version: "0.0.0", memoryMb: 32, key, checks }) as const,
    );
    this.#data.set(key, made);
    // The build may only have been too slow.
    made.catch(() => this.#data.delete(key));
    return made;
  }

  #scriptOf(when: JsonSchema): ToolScript {
    let script = this.#rules.get(when);
    if (script === undefined) {
      const key = `rule ${++this.#lastRule}`;
      script = { ...PLAIN, name: "(rule)", version: "0.0.0", memoryMb: 32, key, checks: compileChecks(when, null) };
      if (this.#rules.size >= RULES_MAX) this.#rules.clear();
      this.#rules.set(when, script);
    }
    return script;
  }

  #run(call: CheckingCall, script: ToolScript, args: string): Promise<CheckedArguments> {
    const { scheduler } = this.#parts;
    const { tool, tenant, limits, options, parent } = call;
    return new Promise((resolve) => {
      const start = (slot: Slot, queueMs: number): void => {
        this.#start(call, script, { args, queueMs }, (checked) => {
          slot.release();
          resolve(checked);
        });
      };
      // The parent of a child call holds a slot already.
      if (parent !== null) return start(scheduler.lend(), 0);
      const { signal, priority = 0 } = options;
      const request = { tool: tool.info.name, tenant, priority, queueMs: limits.queueMs, signal };
      const refuse = ({ code, message }: Failure): void => resolve({ kind: "invalid", failure: { code, message } });
      scheduler.add(request, { start, refuse });
    });
  }

  #start(
    { callId, tenant, limits }: CheckingCall,
    script: ToolScript,
    { args, queueMs }: { readonly args: string; readonly queueMs: number },
    done: (checked: CheckedArguments) => void,
  ): void {
    this.#parts.executor.run({
      callNumber: this.#parts.nextCallNumber(),
      script,
      tenant,
      callId,
      args,
      limits: { ...limits, outputBytes: Math.max(limits.outputBytes, 4 * args.length + 65_536) },
      waitMs: Math.max(0, limits.queueMs - queueMs),
      stream: false,
      ask: (_ask, respond) => respond({ kind: "diverged", message: "a check of arguments asks for nothing" }),
      onLog: () => undefined,
      settle: ({ outcome, cpuMs }) => {
        this.#parts.accounts.of(tenant).spendExecutor(cpuMs);
        if (outcome.ok) done({ kind: "valid", args: outcome.json });
        else done({ kind: "invalid", failure: outcome.failure });
      },
    });
  }
}

const INFINITE: CheckedArguments = {
  kind: "invalid",
  failure: {
    code: "invalid_arguments",
    message: "the arguments have a number beyond 1.8e308, which JSON's readers do not hold; send a text",
  },
};

const PLAIN = {
  runtime: "javascript",
  isolation: "instance",
  config: NO_CONFIG,
  contract: "glovebox",
  text: TEXT,
} as const;
