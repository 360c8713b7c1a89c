import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  type CallWait,
  createEngine,
  defineCapability,
  type Engine,
  type ToolDefinition,
} from "../../../../src/glovebox/index.ts";

/*
 * Stored calls and a recording as a version of the engine has left them, in `fixtures/journals/VERSION`: `calls.sqlite.gz` is
 * the file of calls, `recording.json` a recording, and `expected.json` what each of them gives.
 */

export const JOURNALS = fileURLToPath(new URL("../../../../fixtures/journals/", import.meta.url));
export const FILES = { calls: "calls.sqlite.gz", recording: "recording.json", expected: "expected.json" } as const;
const END_MS = 60_000;

export interface KeptJournal {
  readonly name: string;
  readonly id: string;
  /** Its output as JSON. */
  readonly output: string;
}

export interface Expected {
  readonly calls: readonly KeptJournal[];
  /** What these calls do outside, from where they were left, sorted. */
  readonly effects: readonly string[];
  /** Success, output, error and log lines of the recorded call, as JSON. */
  readonly recorded: string;
}

export function readExpected(version: string): Expected {
  return JSON.parse(readFileSync(`${JOURNALS}${version}/${FILES.expected}`, "utf8")) as Expected;
}

const EARLY = `const early = [Math.random(), Date.now(), crypto.randomUUID(), typeof id, id];
    console.log("it begins", early[0]);
    const order = [];
    await Promise.all([3, 1, 2].map(async (n) => order.push(await host.desk.look({ n }))));
    await new Promise((done) => setTimeout(done, 5));
    const failed = await host.desk.fail().catch(({ code, message }) => [code, message]);
    const at = Date.now();`;

function toolsOf(version: string): readonly ToolDefinition[] {
  const tool = (name: string, body: string, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
    name,
    description: name,
    capabilities: { desk: true, pause: true, tools: ["child"] },
    source: `const version = ${JSON.stringify(version)};\nexport default async ({ id, n }, { host }) => {\n${body}\n};`,
    ...more,
  });
  return [
    tool("travel", `${EARLY} return { early, order, failed, at };`),
    tool(
      "journey",
      `${EARLY}
      const [paid, child] = [await host.desk.pay({ n: 1 }), await host.tools.child({ n: 2 })];
      const { data, actor } = await host.pause.approval({ message: "Go on?", data: { paid } });
      const signalled = await host.pause.signal({ name: "go" });
      const late = [Math.random(), await host.desk.pay({ n: 3 }), Math.random()];
      return { version, early, order, failed, at, paid, child, data, actor, signalled, late };`,
    ),
    tool("gated", "return [version, typeof id, id, await host.desk.pay({ n: id })];", { approval: "always" }),
    tool("child", "return [version, await host.desk.pay({ n }), Math.random()];"),
    tool(
      "lost",
      `return [version, Math.random(), await host.desk.pay({ n: 5 }), await host.desk.hang(), await host.desk.pay({ n: 6 })];`,
    ),
  ];
}

/** A program of code mode, which waits for two approvals and a signal. */
export const PROGRAM = `const done = [];
for (const item of [11, 12]) done.push((await tools.gated({ id: item }))[3], Math.random());
return { done, paid: await signal("payment") };`;

export interface OpenedJournals {
  readonly engine: Engine;
  /** Effects outside, in their order. */
  readonly effects: string[];
  /** Resolves when a call stays in an effect, as one does whose process is lost there. */
  readonly hanging: Promise<void>;
}

/** An engine over a file of calls, with tools of some version; without any, it decides what others run on. */
export async function openJournals(path: string, version: "old" | "new" | null): Promise<OpenedJournals> {
  const effects: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const desk = defineCapability({
    name: "desk",
    methods: {
      look: { isRead: true, handler: async (args) => delay(10 * (args as { readonly n: number }).n, args) },
      fail: { isRead: true, handler: () => Promise.reject(new Error("it rains")) },
      pay: {
        handler: (args) => {
          const n = String((args as { readonly n: number | bigint }).n);
          effects.push(`pay ${n}`);
          return `paid ${n}`;
        },
      },
      hang: {
        handler: () => {
          hanging.resolve();
          return new Promise(() => undefined);
        },
      },
    },
  });
  const engine = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [desk],
    codeMode: {},
    calls: { path, resume: version !== null },
    policy: { rules: [{ allow: { desk: true, pause: true, tools: ["child"] } }] },
    tools: version === null ? [] : [...toolsOf(version)],
  });
  return { engine, effects, hanging: hanging.promise };
}

/** Settles what a call waits for, until it has ended or waits for something. Gives its output or its error, as JSON. */
export async function goOn({ engine }: OpenedJournals, id: string, until?: string): Promise<string> {
  const { durable } = engine.calls;
  for (const untilMs = performance.now() + END_MS; performance.now() < untilMs;) {
    const result = await durable.result(id, {}, { waitMs: 50 });
    if (result !== undefined && result.error?.code !== "paused") {
      const { success, output, error } = result;
      // How long the calls of a program take is another matter.
      return JSON.stringify(success ? output : error, (key, value: unknown) => (key === "ms" ? undefined : value));
    }
    const call = await durable.get(id);
    for (const wait of call?.waits ?? []) {
      if (wait.state !== "open" || call?.state === "running") continue;
      if (until === `${wait.kind} ${wait.step}`) return "";
      await settle(engine, id, wait);
    }
  }
  throw new Error(`the call ${id} does not end`);
}

export async function settle({ calls: { durable } }: Engine, id: string, wait: CallWait): Promise<void> {
  const { step } = wait;
  const actor = "ada@example.com";
  if (wait.kind === "approval")
    await durable.decide(id, { wait: step, decision: "approve", digest: wait.digest, data: { yes: 1 }, actor });
  if (wait.kind === "outcome") await durable.decide(id, { wait: step, decision: "happened", answer: "told" });
  if (wait.kind === "signal") await durable.signal(id, wait.name, { sum: 12 });
}
