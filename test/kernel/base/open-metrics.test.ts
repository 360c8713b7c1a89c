import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { writeMetrics } from "../../../src/kernel/base/open-metrics.ts";
import { registerTallies, Tally } from "../../../src/kernel/base/tally.ts";

const CREATED = /_created(?:\{[^}]*\})? \d+\.\d+$/;
/** Lines of the registry's metrics, without the times of creation. */
async function linesOf(registry: Registry): Promise<readonly string[]> {
  return (await writeMetrics([registry], "openmetrics")).split("\n").map((line) => line.replace(CREATED, "_created T"));
}

test("a counter's family has no suffix, its samples have", async () => {
  const registry = new Registry();
  new Counter({ name: "a_total", help: "Counts.", labelNames: ["x"], registers: [registry] }).inc({ x: '"\\\n' }, 2);
  expect(await linesOf(registry)).toEqual([
    "# TYPE a counter",
    "# HELP a Counts.",
    String.raw`a_total{x="\"\\\n"} 2`,
    "a_created T",
    "# EOF",
    "",
  ]);
});

test("numbers and texts have the format's own spelling", async () => {
  const registry = new Registry();
  const gauge = new Gauge({ name: "b", help: 'Says "b" \\ c.', labelNames: ["of"], registers: [registry] });
  for (const [of, value] of Object.entries({ up: Infinity, down: -Infinity, none: NaN, small: 1e-9 })) {
    gauge.set({ of }, value);
  }
  expect(await linesOf(registry)).toEqual([
    "# TYPE b gauge",
    String.raw`# HELP b Says \"b\" \\ c.`,
    'b{of="up"} +Inf',
    'b{of="down"} -Inf',
    'b{of="none"} NaN',
    'b{of="small"} 1e-9',
    "# EOF",
    "",
  ]);
});

test("a histogram has bounds as floats, and the time from which it counts", async () => {
  const registry = new Registry();
  new Histogram({ name: "c", help: "Takes.", buckets: [0.5, 1], registers: [registry] }).observe(0.7);
  expect(await linesOf(registry)).toEqual([
    "# TYPE c histogram",
    "# HELP c Takes.",
    'c_bucket{le="0.5"} 0',
    'c_bucket{le="1.0"} 1',
    'c_bucket{le="+Inf"} 1',
    "c_sum 0.7",
    "c_count 1",
    "c_created T",
    "# EOF",
    "",
  ]);
});

test("a bucket has the last trace that was observed in it, which Prometheus' own format leaves out", async () => {
  const registry = new Registry();
  const tally = new Tally([1, 10]);
  registerTallies(registry, { name: "d", help: "Takes." }, () => [[{ tool: "add" }, tally]]);
  tally.observe(0.5, "0af7651916cd43dd8448eb211c80319c");
  tally.observe(5);
  const buckets = (await linesOf(registry)).filter((line) => line.startsWith("d_bucket"));
  expect(buckets).toEqual([
    expect.stringMatching(
      /^d_bucket\{le="1\.0",tool="add"\} 1 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} 0\.5 \d{10}\.?\d*$/,
    ),
    'd_bucket{le="10.0",tool="add"} 2',
    'd_bucket{le="+Inf",tool="add"} 2',
  ]);
  expect(await registry.metrics()).not.toContain("trace_id");
});
