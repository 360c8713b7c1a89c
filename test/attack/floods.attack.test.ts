import { attack } from "./harness.ts";
import type { Hazard } from "./plan.ts";

/** Everything that leaves the isolate is counted where it leaves, so the host never holds more than the limits say. */
const LOGS: readonly Hazard[] = [
  {
    name: "a flood of short log lines",
    body: "for (let i = 0; i < 20_000; i++) console.log('line', i); return 'said';",
    limits: { cpuMs: 3_000 },
    ends: ["ok", "cpu_limit"],
    output: "said",
    dropped: 10_000,
  },
  { name: "a flood of log lines without end", body: "for (;;) console.log('x'.repeat(10_000));", ends: ["cpu_limit"] },
  {
    name: "a log line of five hundred megabytes",
    body: "console.log('x'.repeat(5e8)); return 'said';",
    ends: ["ok", "cpu_limit", "memory_limit"],
    output: "said",
  },
  {
    name: "logging what inspects itself with a loop",
    body: "console.log(new Proxy({}, { ownKeys() { for (;;); }, get() { for (;;); } })); return 'said';",
    ends: ["cpu_limit", "ok"],
  },
  {
    name: "logging a graph that doubles at each level",
    body: "let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; console.dir(a, { depth: Infinity }); return 'said';",
    ends: ["ok", "cpu_limit", "memory_limit"],
  },
  {
    name: "logging an array of fifty million",
    body: "console.table(new Array(5e7)); console.log(new Array(5e7)); return 'said';",
    ends: ["ok", "cpu_limit", "memory_limit", "tool_error"],
  },
];

const ASKS: readonly Hazard[] = [
  {
    name: "a flood of asks at once",
    body: "return Promise.all(Array.from({ length: 1_000 }, (_, i) => host.vault.echo(i)));",
    ends: ["capability_limit"],
  },
  {
    name: "a flood of asks whose refusals are caught",
    body: "return (async () => { for (;;) { try { await host.vault.echo(1); } catch {} } })();",
    ends: ["cpu_limit", "capability_limit"],
  },
  {
    name: "asks that nobody waits for",
    body: "for (let i = 0; i < 5_000; i++) host.vault.slow(i).catch(() => {}); return 'left';",
    ends: ["ok"],
    output: "left",
  },
  {
    name: "an ask with a giant argument",
    body: "return host.vault.echo('x'.repeat(5e7));",
    ends: ["capability_limit", "memory_limit", "cpu_limit"],
  },
  {
    name: "asks with giant arguments, without end",
    body: "return (async () => { for (;;) { try { await host.vault.echo('x'.repeat(2e6)); } catch {} } })();",
    ends: ["capability_limit", "memory_limit", "cpu_limit"],
  },
  {
    name: "an ask with an argument that loops when it is written",
    body: "return host.vault.echo({ toJSON() { for (;;); } });",
    ends: ["cpu_limit"],
  },
  {
    name: "an ask with an argument that refers to itself",
    body: "const a = {}; a.a = a; return host.vault.echo(a);",
    ends: ["tool_error"],
  },
  {
    name: "an ask with an argument that is nested ever so deep",
    body: "let a = []; for (let i = 0; i < 3_000; i++) a = [a]; return host.vault.echo(a).then(() => 'asked');",
    ends: ["ok", "tool_error", "capability_failed", "invalid_output"],
  },
  {
    name: "an ask that names a property of the host's objects",
    body: `return (async () => {
      const codes = [];
      for (const [c, m] of [["constructor", "call"], ["__proto__", "toString"], ["vault", "constructor"], ["vault", "__proto__"], ["vault", "toString"], ["nothing", "echo"]]) {
        try { await host[c][m](1); codes.push("answered"); } catch (error) { codes.push(error.code ?? error.name); }
      }
      return codes.includes("answered");
    })();`,
    ends: ["ok"],
    output: false,
  },
  {
    name: "an ask whose names are a megabyte long",
    body: "return host['v'.repeat(1e6)]['e'.repeat(1e6)](1);",
    ends: ["tool_error", "capability_denied"],
  },
  {
    name: "an ask with __proto__ in its argument",
    body: 'return host.vault.echo(JSON.parse(\'{"__proto__":{"polluted":1}}\')).then((got) => ({}).polluted ?? Object.keys(got));',
    ends: ["ok"],
    output: ["__proto__"],
  },
  {
    name: "an ask that fails, nobody listening",
    body: "host.vault.fails(1); return new Promise((done) => setTimeout(done, 50, 'done'));",
    ends: ["ok", "capability_failed", "tool_error"],
  },
];

attack("floods", { hazards: [...LOGS, ...ASKS] });
