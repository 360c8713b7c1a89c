import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createEngine, defineCapability } from "../../../../src/glovebox/index.ts";
import { placeOf } from "./calls-place.ts";

/*
 * A process with an engine over a place of calls, whose effects are lines of another file. `begin FILE EFFECTS TOOL`: makes a
 * call that fails after three steps, stays while the second one is undone, says the call's id, and waits to be killed.
 * `finish FILE EFFECTS ID`: says that what is in doubt has happened, and then what became of each step, and the effects.
 */

const [, , role = "", path = "", effects = "", what = ""] = process.argv;
const begun = Promise.withResolvers<string>();

const ledger = defineCapability({
  name: "ledger",
  methods: {
    add: {
      handler: async (args) => {
        const { n } = args as { readonly n: number };
        appendFileSync(effects, `${n}\n`);
        if (role !== "begin" || n !== -2) return n;
        process.stdout.write(`${JSON.stringify({ id: await begun.promise })}\n`);
        return new Promise(() => setInterval(() => undefined, 1_000));
      },
    },
  },
});

const add = "export default ({ n }, { host }) => host.ledger.add({ n });";
await using engine = await createEngine({
  workers: 1,
  capabilities: [ledger],
  calls: placeOf(path),
  policy: { rules: [{ allow: { ledger: true, pause: true, tools: ["*"] } }] },
  tools: [
    {
      name: "step",
      description: "A step.",
      capabilities: { ledger: true },
      undo: { tool: "back", arguments: { n: "/input/n" } },
      source: add,
    },
    {
      name: "back",
      description: "A step back.",
      capabilities: { ledger: true },
      source: "export default ({ n }, { host }) => host.ledger.add({ n: -n });",
    },
    {
      name: "own",
      description: "A step that its module takes back.",
      capabilities: { ledger: true },
      source: `${add}
        export const undo = ({ output }, { host }) => host.ledger.add({ n: -output });`,
    },
    {
      name: "all",
      description: "Three steps, and a failure.",
      capabilities: { tools: ["step", "own"] },
      source: `export default async (input, { host }) => {
        for (const n of [1, 2, 3]) await host.tools[n === 2 ? "own" : "step"]({ n });
        throw new Error("no more");
      };`,
    },
    {
      name: "nested",
      description: "Three steps, two of them in a call below that waits between them, and a failure.",
      capabilities: { tools: ["step", "pair"] },
      source: `export default async (input, { host }) => {
        await host.tools.step({ n: 1 });
        await host.tools.pair({});
        throw new Error("no more");
      };`,
    },
    {
      name: "pair",
      description: "Two steps.",
      capabilities: { tools: ["step"], pause: true },
      source: `export default async (input, { host }) => {
        await host.tools.step({ n: 2 });
        await host.pause.signal({ name: "go" });
        await host.tools.step({ n: 3 });
      };`,
    },
  ],
});

const { durable } = engine.calls;
if (role === "begin") {
  const { error, metadata } = await engine.execute({ name: what, arguments: {} }, { undo: "onFailure" });
  begun.resolve(error?.code === "paused" ? (error.details?.id ?? "") : (metadata.durableId ?? ""));
  for (const { id } of (await durable.list({ tool: "pair" })).calls) await durable.signal(id, "go");
  await new Promise(() => setInterval(() => undefined, 1_000));
} else {
  while ((await durable.get(`${what}.undo`))?.state !== "ended") {
    for (const { id } of (await durable.list({ state: "in_doubt" })).calls)
      await durable.decide(id, { decision: "happened", answer: -2 });
    await delay(100);
  }
  const report = await durable.undo(what);
  const outcomes = report?.effects?.map(({ step, outcome }) => `${step} ${outcome}`);
  console.log(JSON.stringify({ outcomes, done: readFileSync(effects, "utf8").trim().split("\n").map(Number) }));
}
