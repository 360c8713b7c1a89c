import { randomBytes } from "node:crypto";
import type { Limits } from "../base/limits.ts";
import type { Throttling } from "../base/host-work-queue.ts";
import { OnDemand } from "../base/on-demand.ts";
import type { Prelude } from "../base/protocol/prelude.ts";
import type { BrokerClient } from "../broker/thread/broker-client.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import { FUNCTIONS } from "../broker/capabilities/functions.ts";
import { PROGRAM_METHODS, PROGRAM_TOOLS } from "../broker/capabilities/program-tools.ts";
import type { SecretViolation } from "../broker/capabilities/secrets/placeholders.ts";
import { Binaries } from "../broker/binaries.ts";
import type { Executor } from "../executor/executor.ts";
import { CallStore, type CallStoreListener } from "../store/calls/call-store.ts";
import { type CallLedger, DEFAULT_KEYS } from "../store/calls/ledger.ts";
import { SqliteLedger } from "../store/calls/sqlite-ledger.ts";
import { IN_MEMORY } from "../store/sqlite/layout.ts";
import type { TakeDurable } from "../store/calls/durable/durable-step.ts";
import { sentStore } from "../store/store-factory.ts";
import { Packages } from "../tool/packages.ts";
import { callOf, readySource, type ProgramHost } from "../tool/program/program.ts";
import { Programs } from "../tool/program/programs.ts";
import { Registrar } from "../tool/registrar.ts";
import { ToolRegistry } from "../tool/registry.ts";
import { CallHistory, type KeptCalls } from "./call-history.ts";
import { Admission } from "./call/admission.ts";
import { CallKeeper } from "./call/call-keeper.ts";
import { type DetailOptions, DetailWriter } from "./call/detail-writer.ts";
import { ApprovalRequests } from "./call/approval-request.ts";
import { CallPipeline } from "./call/call-pipeline.ts";
import { Idempotency } from "./call/idempotency.ts";
import { DEFAULT_ROOM, DEFAULT_WAITING } from "./call-options.ts";
import { createBroker } from "./create-broker.ts";
import type { CreateExecutor } from "../executor/executor-factory.ts";
import { DurableStage } from "./durable/durable-stage.ts";
import type { openDurable } from "./durable/open-durable.ts";
import { resolveNotify } from "./durable/notify-options.ts";
import { Readmissions } from "./durable/readmission.ts";
import { explainTool } from "./explanation.ts";
import { InstalledTools } from "./installed-tools.ts";
import type { ModelOutputs, OutputsHost } from "./model/model-outputs.ts";
import type { ResolvedIdempotency, ResolvedOptions } from "./options.ts";
import type { CallReplays } from "./replay/call-replays.ts";
import { registerCallMetrics } from "./telemetry/kept-call-metrics.ts";
import { EngineSources } from "./sources.ts";
import { Scheduler } from "./schedule/scheduler.ts";
import { Audit } from "./telemetry/audit.ts";
import { SnippetStage } from "./snippets/snippet-stage.ts";
import type { SnippetParts } from "./snippets/stored-snippets.ts";
import { logCalls } from "./telemetry/call-log.ts";
import { Events } from "./telemetry/events.ts";
import { logEvents } from "./telemetry/log.ts";
import { Metrics, type MetricSources } from "./telemetry/metrics.ts";
import { Tracing } from "./telemetry/tracing.ts";

/** Objects that an engine consists of. */
export interface Assembly {
  /** Limits in force. Changed in place, so that all readers see the change. */
  readonly bounds: { limits: Limits; maxLimits: Limits; toolMaxLimits: Limits };
  readonly events: Events;
  readonly registry: ToolRegistry;
  readonly registrar: Registrar;
  readonly programs: Programs;
  readonly tools: InstalledTools;
  readonly sources: EngineSources;
  readonly scheduler: Scheduler;
  readonly executor: Executor;
  readonly broker: BrokerClient;
  readonly pipeline: CallPipeline;
  readonly idempotency: Pick<Idempotency, "problem">;
  readonly metrics: Metrics;
  readonly audit: Audit | undefined;
  readonly calls: CallHistory;
  readonly durable: DurableStage;
  readonly snippets: SnippetStage;
  readonly programHost: { is: ProgramHost | null };
  /** Loaded at first use: most engines serve no model. */
  readonly modelOutputs: OnDemand<ModelOutputs>;
}

/** Modules loaded before an engine is created. */
export interface Loaded {
  readonly prelude: Prelude;
  readonly createExecutor: CreateExecutor;
}

const REASON_MAX = 1_000;

/** Creates the objects of an engine and connects them. Starts nothing. */
export function assemble(options: ResolvedOptions, { prelude, createExecutor }: Loaded): Assembly {
  const { workers, queue, packages, fetch, logger } = options;
  const events = new Events();
  const registry = new ToolRegistry();
  const scheduler = new Scheduler(queue);
  const entropyKey = randomBytes(32).toString("hex");
  let lastRun = 0;
  const nextCallNumber = (): number => ++lastRun;
  const { perTool, perTenant } = queue;
  const emit = events.emit.bind(events);
  const binaries = new Binaries();
  const { limits, maxLimits, toolMaxLimits } = options;
  const bounds = { limits, maxLimits, toolMaxLimits };
  const opened = new Packages(packages, options.plugins.runtimes, fetch, (event) => events.emit("package:step", event));
  const programs = new Programs(bounds);
  const broker = createBroker(options, brokerListeners(events), binaries);
  const caps = { perTool, perTenant };
  const executor = createExecutor({ workers, prelude, entropyKey, nextCallNumber, ...caps, emit, pipes: broker });
  const registrar = new Registrar(executor, binaries, opened, bounds, options.plugins, options.root, (tool) =>
    events.emit("tool:omit", tool),
  );
  const tools = new InstalledTools(registry, registrar, broker, events);
  const host = { registry, registrar, tools, events, broker };
  const engineSources = new EngineSources(options.plugins.sources, options.sources, host);
  const admission = new Admission(registry, bounds, executor, broker);
  log(events, logger);
  const { capabilities } = broker;
  const sources = sourcesOf({ scheduler, executor, broker }, () => durable);
  const metrics = new Metrics(events, sources, [...capabilities.keys(), FUNCTIONS, PROGRAM_TOOLS], options.registry);
  const explain: DetailOptions["explain"] = (tool, tenant, grants = broker.grants) =>
    explainTool(tool, tenant, { broker: { grants }, bounds, executor });
  const kept = openCalls(options, { entropyKey, explain }, { events, metrics, registry, broker, prelude });
  const ledger = openLedger(options.idempotency, kept?.store ?? null, events);
  const idempotency = new Idempotency(ledger, registry, (result, given) =>
    pipeline.ends.rejected(result, given, null, null),
  );
  // The audit writes hashes of arguments, as other listeners may.
  events.markOwn();
  const audit = options.audit === undefined ? undefined : new Audit(options.audit, events);
  const tracing = new Tracing(
    new Map<string, typeof PROGRAM_METHODS>([...capabilities, [PROGRAM_TOOLS, PROGRAM_METHODS]]),
  );
  const parts = { registry, tools, programs, idempotency, admission, tracing, events, scheduler, broker, executor };
  const programHost: Assembly["programHost"] = { is: null };
  const restore = () => programHost.is?.restore ?? null;
  const asked = { ...parts, plugins: options.plugins, nextCallNumber, entropyKey, restore };
  const durable: DurableStage = durableStage(options, asked, kept?.store ?? null, {
    resume: (...given) => pipeline.resume(...given),
    unrun: (...given) => pipeline.ends.unrun(null, ...given),
  });
  const keeper = kept?.keeper ?? null;
  const pipeline: CallPipeline = new CallPipeline({ ...parts, nextCallNumber, entropyKey, keeper, durable });
  const approvals = new ApprovalRequests({ ...parts, nextCallNumber, durable }, pipeline);
  const history = new CallHistory(kept, durable, approvals);
  return {
    bounds,
    events,
    registry,
    registrar,
    programs,
    tools,
    sources: engineSources,
    scheduler,
    executor,
    broker,
    pipeline,
    idempotency,
    metrics,
    audit,
    calls: history,
    durable,
    snippets: snippetStage({ ...parts, registrar, take: durable.take, check: () => programHost.is }, kept && history),
    programHost,
    modelOutputs: modelOutputs({ registry, broker, calls: history }, pipeline),
  };
}

/** Long outputs in the form for models. */
function modelOutputs(parts: Omit<OutputsHost, "runProgram">, pipeline: CallPipeline): Assembly["modelOutputs"] {
  return new OnDemand(async () => {
    const { ModelOutputs } = await import("./model/model-outputs.ts");
    const runProgram: OutputsHost["runProgram"] = (program, given) =>
      pipeline.runProgram(callOf(program), readySource(program), given);
    return new ModelOutputs({ ...parts, runProgram });
  });
}

/** `durable`: the parts that are made later. */
function sourcesOf(
  { scheduler, executor, broker }: Pick<Assembly, "scheduler" | "executor" | "broker">,
  durable: () => DurableStage,
): MetricSources {
  return {
    scheduler: () => scheduler.stats(),
    executor: () => executor.stats(),
    accounts: broker.accounts,
    standing: () => durable().standing(),
  };
}

function brokerListeners(events: Events) {
  return {
    onOutcome: (event: CapabilityEvent) => events.emit("capability:call", event),
    onSecretViolation: (violation: SecretViolation) => events.emit("secret:violation", violation),
    onThreadDeath: (error: Error) => events.emit("broker:lost", { reason: error.message.slice(0, REASON_MAX) }),
    onThrottled: (throttling: Throttling) => events.emit("tenant:throttled", throttling),
  };
}

function log(events: Events, logger: ResolvedOptions["logger"]): void {
  if (logger === undefined) return;
  logEvents(events, logger);
  logCalls(events, logger);
}

type DurableAsks = Parameters<typeof openDurable>[0];
type RunsAndEnds = Pick<DurableAsks, "resume" | "unrun">;
type OfOptions = Pick<DurableAsks, "takesAll" | "isRedacted" | "notified" | "waiting">;

/** Waiting calls: in the store of calls, or else in memory. */
function durableStage(
  { calls: given, notify }: Pick<ResolvedOptions, "calls" | "notify">,
  parts: Omit<DurableAsks, "take" | "close" | "readmit" | keyof RunsAndEnds | keyof OfOptions>,
  calls: CallStore | null,
  calling: RunsAndEnds,
): DurableStage {
  const { events, broker } = parts;
  const readmissions = new Readmissions();
  const asked: OfOptions = {
    takesAll: given?.resume !== false,
    isRedacted: given?.redact !== undefined,
    notified: resolveNotify(notify, process.env),
    waiting: given?.waiting ?? DEFAULT_WAITING,
  };
  const load = new OnDemand(async () => {
    const { openDurable } = await import("./durable/open-durable.ts");
    const settings = { ...DEFAULT_ROOM, path: IN_MEMORY, keys: DEFAULT_KEYS };
    const store = calls ?? new CallStore(settings, listenerOf(events));
    const close = async (): Promise<void> => (calls === null ? store.close() : undefined);
    const take: TakeDurable = (step) => store.takeDurable(step);
    return openDurable({ ...parts, ...asked, take, ...calling, readmit: readmissions.of, close });
  });
  return new DurableStage(load, () => broker.grants.policy, asked.notified.length > 0, readmissions);
}

/** Snippets: in the store of waiting calls. */
function snippetStage(parts: Omit<SnippetParts, "callOf">, history: CallHistory | null): SnippetStage {
  const callOf: SnippetParts["callOf"] = async (id, tenant) => history?.get(id, { tenant });
  return new SnippetStage(
    new OnDemand(async () => {
      const { StoredSnippets } = await import("./durable/open-durable.ts");
      return new StoredSnippets({ ...parts, callOf });
    }),
  );
}

/** The ledger, in the store of calls if that has the same file. */
function openLedger(options: ResolvedIdempotency, calls: CallStore | null, events: Events): CallLedger {
  if ("factory" in options) return options.factory.open(options.own, options);
  const { path, ...keys } = options;
  if (path === IN_MEMORY) return SqliteLedger.inMemory(keys);
  const settings = { ...DEFAULT_ROOM, path, keys };
  if (calls !== null && "path" in calls.settings && calls.settings.path === path) {
    return SqliteLedger.in(calls, calls.settings, () => undefined);
  }
  const store = new CallStore(settings, listenerOf(events));
  return SqliteLedger.in(store, settings, () => store.close());
}

function listenerOf(events: Events): CallStoreListener {
  return {
    onDrop: (drop) => events.emit("calls:drop", drop),
    onRenewed: (reason) => events.emit("calls:renew", { reason }),
    onDown: (event) => events.emit("calls:down", event),
    onUp: (event) => events.emit("calls:up", event),
    onHeard: () => undefined,
  };
}

/** The store of calls, and its keeper; `null` if calls are not kept. */
function openCalls(
  { calls, idempotency }: Pick<ResolvedOptions, "calls" | "idempotency">,
  of: Omit<DetailOptions, "redact">,
  {
    events,
    metrics,
    registry,
    broker,
    prelude,
  }: Pick<Assembly, "events" | "metrics" | "registry" | "broker"> & Pick<Loaded, "prelude">,
): KeptCalls | null {
  if (calls === null) return null;
  const { keep, redact, place, room } = calls;
  // A file has room for keys as well, which other engines may keep there.
  const { ttlMs, maxEntries, maxBytes } = idempotency;
  const at = "factory" in place ? sentStore(place) : { ...place, keys: { ttlMs, maxEntries, maxBytes } };
  const store = new CallStore(
    { ...room, ...at },
    {
      ...listenerOf(events),
      onHeard: (cells) => keeper.watchers.tell(cells),
    },
  );
  registerCallMetrics(metrics.registry, store);
  const writer = new DetailWriter({ ...of, redact });
  const keeper = new CallKeeper({ keep, writer, store });
  const charge = (tenant: string, cpuMs: number): void => broker.accounts.of(tenant).spendExecutor(cpuMs);
  const replays = new OnDemand<CallReplays>(async () => {
    const { CallReplays } = await import("./replay/call-replays.ts");
    return new CallReplays({ store, registry, writer, prelude, charge });
  });
  return { store, keeper, replays };
}

/**
 * Nothing calls it. Tracers, such as that of Next, copy the packages that imports lead to, and find by this one those
 * of the build process.
 *
 * @public
 */
export function traced(): Promise<unknown> {
  return import("../tool/build/child.ts");
}
