import { trace } from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  NoopSpanProcessor,
  type Sampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { openEngine } from "../engines.ts";
import { runInEngine } from "../runs.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const CONCURRENCY = 64;
const UNTRACED = "nobody traces";

/** What spans cost: where nobody wants them, where none is recorded, and where each call has its three. */
export const tracing: Scenario = {
  name: "tracing",
  description: "a small warm tool in a process that traces, or does not",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 9, sampleMs: 300 },
  async run(context) {
    await using engine = await openEngine("process");
    await engine.register(addTool("add"));
    const run = runInEngine(engine, "add", addArguments);
    const subject = (name: string, sampler: Sampler | null): Subject => {
      const spanProcessors = [new NoopSpanProcessor()];
      const provider = sampler === null ? null : new TracerProvider({ sampler, spanProcessors });
      return {
        name,
        against: name === UNTRACED ? [] : [UNTRACED],
        run: (index) => {
          register(provider);
          return run(index);
        },
      };
    };
    try {
      return await measure(context, {
        subjects: [
          subject(UNTRACED, null),
          subject("no call is recorded", new AlwaysOffSampler()),
          subject("each call is recorded", new AlwaysOnSampler()),
        ],
        expected: expectedSum,
        latency: { name: "latency_us", unit: "us" },
        concurrencies: [CONCURRENCY],
        cpuConcurrency: CONCURRENCY,
      });
    } finally {
      register(null);
    }
  },
};

let registered: TracerProvider | null = null;

/** Has the process trace with a provider from here on; with none, it is as if there had never been one. */
function register(provider: TracerProvider | null): void {
  if (provider === registered) return;
  registered = provider;
  trace.disable();
  if (provider !== null) trace.setGlobalTracerProvider(provider);
}
