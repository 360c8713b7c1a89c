import { randomBytes } from "node:crypto";
import { Admission } from "./call/admission.ts";
import { Audit } from "./telemetry/audit.ts";
import { createBroker } from "./create-broker.ts";
import { logCalls } from "./telemetry/call-log.ts";
import type { Broker } from "../broker/broker.ts";
import { callTool } from "./call/child-call.ts";
import { Binaries } from "../broker/capabilities/native/binaries.ts";
import type { CallHost, EngineCall } from "./call/engine-call.ts";
import type { ExecuteOptions } from "./execute-options.ts";
import { Events } from "./telemetry/events.ts";
import type { CreateExecutor } from "./create-executor.ts";
import type { Executor } from "../executor/executor.ts";
import { Idempotency } from "./call/idempotency.ts";
import { RedisLedger } from "../store/calls/redis-ledger.ts";
import { SqliteLedger } from "../store/calls/sqlite-ledger.ts";
import { adoptResult } from "./call/adopt-result.ts";
import type { Limits } from "../base/limits.ts";
import { logEvents } from "./telemetry/log.ts";
import { Metrics } from "./telemetry/metrics.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Prelude } from "../base/protocol/prelude.ts";
import { recordCall } from "./replay/recorder.ts";
import { Registrar } from "../tool/registrar.ts";
import type { ToolCall, ToolResult } from "../base/result.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import type { RegisteredTool } from "../tool/registered-tool.ts";
import { ToolRegistry } from "../tool/registry.ts";
import { Tracing } from "./telemetry/tracing.ts";

/** What an engine is made of. */
export interface Assembly {
  /** Changed in place: whoever looks sees the limits that are in force. */
  readonly bounds: { limits: Limits; maxLimits: Limits };
  readonly events: Events;
  readonly registry: ToolRegistry;
  readonly registrar: Registrar;
  readonly scheduler: Scheduler;
  readonly executor: Executor;
  readonly broker: Broker;
  readonly admission: Admission;
  readonly idempotency: Idempotency;
  readonly metrics: Metrics;
  readonly audit: Audit | undefined;
  readonly tracing: Tracing;
  /** Lets go of a script that no tool has any more. */
  forget(key: string): void;
}

/** What the parts need of the engine that they are parts of. */
export interface EngineFace {
  /** Throws where no tool is taken any more. */
  requireOpen(): void;
  /** A call has ended. */
  onEnd(call: EngineCall, result: ToolResult): void;
  /** Runs a call on behalf of another. */
  run(call: ToolCall, options: ExecuteOptions, parent: EngineCall): Promise<ToolResult>;
}

/** What is loaded before an engine is made. */
export interface Loaded {
  readonly prelude: Prelude;
  readonly createExecutor: CreateExecutor;
}

/** Makes the parts of an engine, and ties them together. Nothing is started. */
export function assemble(options: ResolvedOptions, { prelude, createExecutor }: Loaded, engine: EngineFace): Assembly {
  const events = new Events();
  const registry = new ToolRegistry();
  const scheduler = new Scheduler(options.queue);
  const entropyKey = randomBytes(32).toString("hex");
  let lastRun = 0;
  const nextRun = (): number => ++lastRun;
  const executor = createExecutor({
    workers: options.workers,
    prelude,
    entropyKey,
    nextRun,
    perTool: options.queue.perTool,
    perTenant: options.queue.perTenant,
    tell: (...told) => events.emit(...told),
  });
  const binaries = new Binaries();
  const forget = (key: string): void => {
    executor.forget(key);
    binaries.forget(key);
  };
  const { packages, fetch } = options;
  const bounds = { limits: options.limits, maxLimits: options.maxLimits };
  const registrar = new Registrar({
    bounds,
    packages,
    fetch,
    tell: (event) => events.emit("package:step", event),
    requireOpen: () => engine.requireOpen(),
    inspect: (script) => executor.inspect(script),
    forget,
    binaries,
  });
  const broker = createBroker(options, (event) => events.emit("capability:call", event), binaries);
  const host: CallHost = {
    executor,
    broker,
    nextRun,
    record: (call, result) => recordCall(call, result, entropyKey),
    onEnd: (call, result) => engine.onEnd(call, result),
    callTool: (parent, name, args, signal) => callTool(parent, name, args, signal, (...child) => engine.run(...child)),
  };
  const admission = new Admission(registry, bounds, host);
  const ledger =
    options.idempotency.kind === "redis" ? new RedisLedger(options.idempotency) : new SqliteLedger(options.idempotency);
  const idempotency = new Idempotency(ledger, {
    mayRepeat: (name) => mayRepeat(registry.get(name)),
    finish: (end, call) => adoptResult(end, call, registry.get(call.name)),
  });
  if (options.logger !== undefined) {
    logEvents(events, options.logger);
    logCalls(events, options.logger);
  }
  const metrics = new Metrics(
    events,
    { scheduler: () => scheduler.stats(), executor: () => executor.stats() },
    [...broker.grants.capabilities.keys()],
    options.registry,
  );
  const audit = options.audit === undefined ? undefined : new Audit(options.audit, events);
  const tracing = new Tracing(broker.grants.capabilities);
  return {
    bounds,
    events,
    registry,
    registrar,
    scheduler,
    executor,
    broker,
    admission,
    idempotency,
    metrics,
    audit,
    tracing,
    forget,
  };
}

/** A tool that has nothing to act with does nothing; others say of themselves that twice is as good as once. */
function mayRepeat(tool: RegisteredTool | undefined): boolean {
  if (tool === undefined) return false;
  const { idempotent = false, readOnly = false } = tool.info.annotations;
  return idempotent || readOnly || Object.keys(tool.capabilities).length === 0;
}
