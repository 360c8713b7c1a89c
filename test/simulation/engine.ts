import { DEFAULT_LIMITS, MAX_LIMITS } from "../../src/kernel/base/limits.ts";
import { NO_CHECKS } from "../../src/kernel/base/protocol/script.ts";
import type { Capability, CapabilityRequest } from "../../src/kernel/broker/capabilities/capability.ts";
import { Binaries } from "../../src/kernel/broker/binaries.ts";
import { createPause } from "../../src/kernel/broker/capabilities/pause.ts";
import { createTools } from "../../src/kernel/broker/capabilities/tools.ts";
import type { Policy } from "../../src/kernel/broker/policy.ts";
import { BrokerClient } from "../../src/kernel/broker/thread/broker-client.ts";
import type { StartServer } from "../../src/kernel/broker/thread/start.ts";
import { Admission } from "../../src/kernel/engine/call/admission.ts";
import { CallKeeper } from "../../src/kernel/engine/call/call-keeper.ts";
import { DetailWriter } from "../../src/kernel/engine/call/detail-writer.ts";
import { OnDemand } from "../../src/kernel/base/on-demand.ts";
import { DEFAULT_WAITING } from "../../src/kernel/engine/call-options.ts";
import { openDurable } from "../../src/kernel/engine/durable/open-durable.ts";
import type { TakeDurable } from "../../src/kernel/store/calls/durable/durable-step.ts";
import { DurableStage } from "../../src/kernel/engine/durable/durable-stage.ts";
import { CallPipeline, type PipelineParts } from "../../src/kernel/engine/call/call-pipeline.ts";
import type { Explanation } from "../../src/kernel/engine/explanation.ts";
import { Scheduler } from "../../src/kernel/engine/schedule/scheduler.ts";
import { Events } from "../../src/kernel/engine/telemetry/events.ts";
import { Tracing } from "../../src/kernel/engine/telemetry/tracing.ts";
import type { ChildOptions } from "../../src/kernel/executor/process/child-handle.ts";
import { ProcessExecutor } from "../../src/kernel/executor/process/process-executor.ts";
import { resolveTrust } from "../../src/kernel/executor/trust-groups.ts";
import { type RegisteredTool, registeredTool } from "../../src/kernel/tool/registered-tool.ts";
import { ToolRegistry } from "../../src/kernel/tool/registry.ts";
import { type Scenario, TOOLS, type ToolName } from "./scenario.ts";
import { NO_READERS } from "../../src/kernel/tool/contracts/contract.ts";

const TRUST = resolveTrust([{ name: "all" }]);
const TOOLS_CAPABILITY = createTools() as Capability;
const PAUSE_CAPABILITY = createPause() as Capability;
/** Registered once: each engine gets copies with an own usage. */
const REGISTERED = Object.keys(TOOLS).map((name) => registered(name as ToolName));
const MAX_MS = 1_000_000;

function registered(name: ToolName): RegisteredTool {
  const isolation = name === "open" ? "context" : "instance";
  const requested = TOOLS[name].map((capability) => [capability, capability === "tools" ? ["*"] : true]);
  const capabilities = Object.fromEntries(
    TOOLS[name].length === 0 ? [] : [...requested, ["vault", true]],
  ) as CapabilityRequest;
  const bundle = { runtime: "javascript", text: "", bytes: 0, sourceMap: "", sources: [] } as const;
  const found = { described: "null", spec: "null", defaultExport: "function", evaluationMs: 0, key: name };
  const inspection = { ok: true, contract: "glovebox", isolation, ...found } as const;
  const definition = { name, description: "Runs a program.", isolation, capabilities } as const;
  const limits = { limits: DEFAULT_LIMITS, maxLimits: MAX_LIMITS, readers: NO_READERS, registrant: "operator" };
  return registeredTool(definition, NO_CHECKS, bundle, inspection, limits);
}

/** Each is another one for the broker. */
export function policy(): Policy {
  return { rules: [{ allow: { disk: true, notes: true, pause: true, tools: ["*"] } }] };
}

export interface EngineMeans {
  readonly startBroker: StartServer;
  readonly startProcess: NonNullable<ChildOptions["start"]>;
  /** A capability whose handlers are on the main thread. */
  readonly notes: Capability;
  /** One of the broker thread; here it is only decided about. */
  readonly disk: Capability;
  readonly onBrokerDeath: () => void;
  /** Takes steps of calls that wait; without it, none waits. */
  readonly take?: TakeDurable;
}

/** The product's engine from its pipeline on, in a simulation. */
export function createEngine(
  scenario: Scenario,
  { startBroker, startProcess, notes, disk, onBrokerDeath, take }: EngineMeans,
) {
  const events = new Events();
  const registry = new ToolRegistry();
  for (const tool of REGISTERED) {
    const usage = { calls: 0, retired: false, ...(scenario.hasCalled ? { callees: new Set(["plain"]) } : {}) };
    registry.set({ ...tool, script: { ...tool.script }, usage });
  }
  const queue = { maxQueued: 1_000, concurrency: scenario.concurrency, perTool: Infinity, perTenant: Infinity };
  const scheduler = new Scheduler(queue);
  const broker = new BrokerClient({
    capabilities: { broker: [disk], host: [TOOLS_CAPABILITY, PAUSE_CAPABILITY, notes] },
    policy: policy(),
    binaries: new Binaries(),
    start: startBroker,
    settings: { fetch: {}, secrets: {}, environment: {}, kv: { path: ":memory:", maxBytes: 1 }, listens: true },
    lookup: undefined,
    onOutcome: (event) => events.emit("capability:call", event),
    onViolation: () => undefined,
    onThrottled: () => undefined,
    restartMs: 5,
    onDeath: onBrokerDeath,
  });
  let lastRun = 0;
  const nextCallNumber = (): number => ++lastRun;
  const emit = events.emit.bind(events);
  const executor = new ProcessExecutor({
    workers: scenario.workers,
    prelude: { runtimes: [] } as unknown as ChildOptions["prelude"],
    entropyKey: "",
    warmIsolates: 4,
    spinMs: 0,
    rssMaxMb: 1_000,
    pipes: broker,
    start: startProcess,
    spare: scenario.spare,
    recycle: { ageMs: MAX_MS, calls: scenario.recycleCalls, rssMb: 1_000 },
    sandbox: "off",
    trust: TRUST,
    emit,
    nextCallNumber,
  });
  const bounds = { limits: DEFAULT_LIMITS, maxLimits: MAX_LIMITS, toolMaxLimits: MAX_LIMITS };
  const store = { keep: () => undefined, skip: () => undefined, watch: () => undefined };
  const explain = () => ({}) as Explanation;
  const { keep } = scenario;
  const keeper =
    keep && new CallKeeper({ keep, store, writer: new DetailWriter({ redact: undefined, explain, entropyKey: "" }) });
  const loaded = new OnDemand(async () => {
    if (take === undefined) throw new Error("no call waits");
    return openDurable({
      take,
      registry,
      broker,
      executor,
      scheduler,
      events,
      nextCallNumber,
      entropyKey: "",
      plugins: { readers: NO_READERS, runtimes: new Map() },
      resume: (...given) => pipeline.resume(...given),
      unrun: (...given) => pipeline.ends.unrun(null, ...given),
      restore: () => null,
      readmit: () => ({ kind: "admitted", options: {} }),
      programs: { toolFor: () => Promise.reject(new Error("there are no programs")) as never },
      takesAll: true,
      isRedacted: false,
      waiting: { ...DEFAULT_WAITING, lingerMs: 20 },
      notified: [],
      close: () => Promise.resolve(),
    });
  });
  const durable = new DurableStage(loaded, () => broker.grants.policy);
  const pipeline: CallPipeline = new CallPipeline({
    registry,
    tools: { release: ({ usage }: RegisteredTool) => usage.calls-- },
    programs: null,
    idempotency: { close: () => Promise.resolve() },
    admission: new Admission(registry, bounds, executor, broker),
    tracing: new Tracing(broker.capabilities),
    events,
    scheduler,
    broker,
    executor,
    nextCallNumber,
    entropyKey: "",
    keeper,
    durable,
  } as unknown as PipelineParts);
  return { events, registry, scheduler, broker, executor, pipeline, durable };
}
