import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { fleetStores } from "../../../../src/fleet/server/fleet-stores.ts";
import { defineCapability } from "../../../../src/glovebox/index.ts";
import { startEngine } from "../../../../src/kernel/engine/engine.ts";
import { placeOf } from "./calls-place.ts";

/*
 * A process with an engine over a place of calls, whose effects are lines of another file. `begin FILE EFFECTS WHERE`: has a
 * call approved that runs on until it stays WHERE, says its id, and waits to be killed. `finish FILE EFFECTS ID DECISION`:
 * goes on with the call, decides what is in doubt, and says its result, its states and the effects.
 */

const [, , role = "", path = "", effects = "", what = "", decision = ""] = process.argv;
const stays = role === "begin" ? what : "";
const stay = async (): Promise<never> => {
  // The store takes steps of a call in their order: it has the answers of those before.
  await durable.get(id);
  process.stdout.write(`${JSON.stringify({ id })}\n`);
  return new Promise(() => setInterval(() => undefined, 1_000));
};
let id = "";

const ledger = defineCapability({
  name: "ledger",
  methods: {
    add: {
      handler: async (args) => {
        const { n } = args as { readonly n: number };
        if (stays === `before ${n}`) await stay();
        appendFileSync(effects, `${n}\n`);
        if (stays === `after ${n}`) await stay();
        return `added ${n}`;
      },
    },
    read: { isRead: true, handler: () => (stays === "read" ? stay() : "read") },
  },
});

/** A store that is killed once it has written, in the place of that of `kv.path`. */
const held = {
  name: "held",
  stores: {
    ...fleetStores,
    kv: {
      resolve: () => ({ path: `${effects}.kv`, said: `${effects}.id` }),
      load: () => Promise.resolve(),
      module: new URL("lost-kv.ts", import.meta.url),
    },
  },
};

await using engine = await startEngine({
  workers: 1,
  plugins: [held],
  kv: stays === "kv" ? { url: "held://" } : { path: `${effects}.kv` },
  capabilities: [ledger],
  calls: placeOf(path),
  policy: { rules: [{ allow: { kv: true, ledger: true, tools: ["*"] } }] },
  tools: [
    {
      name: "order",
      description: "Orders in two steps.",
      approval: "always",
      capabilities: { ledger: true, tools: ["second"] },
      source: `export default async (input, { host }) => [
        Math.random() > 2, await host.ledger.add({ n: 1 }), await host.ledger.read({}), await host.tools.second({}),
      ];`,
    },
    {
      name: "note",
      description: "Writes twice.",
      approval: "always",
      capabilities: { kv: true },
      source: `export default async (input, { host }) => [
        Math.random() > 2, await host.kv.set("k", 1), await host.kv.set("k", 2),
      ];`,
    },
    {
      name: "second",
      description: "The second step.",
      capabilities: { ledger: true },
      source: `export default async (input, { host }) => host.ledger.add({ n: 2 });`,
    },
  ],
});

const { durable } = engine.calls;
if (role === "begin") {
  const { error } = await engine.execute({ name: stays === "kv" ? "note" : "order", arguments: {} });
  id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  writeFileSync(`${effects}.id`, `${JSON.stringify({ id })}\n`);
  const [wait] = (await durable.get(id))?.waits ?? [];
  if (wait?.kind !== "approval") throw new Error("no approval");
  await durable.decide(id, { decision: "approve", digest: wait.digest });
  await new Promise(() => setInterval(() => undefined, 1_000));
} else {
  const states = new Set<string>();
  for (
    let call = await durable.get(what);
    call !== undefined && call.state !== "ended";
    call = await durable.get(what)
  ) {
    states.add(call.state);
    if (call.state === "in_doubt")
      await durable.decide(
        what,
        decision === "happened" ? { decision, answer: "told" } : { decision: "did_not_happen" },
      );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { output, error } = (await durable.result(what)) ?? {};
  const done = existsSync(effects) ? readFileSync(effects, "utf8").trim().split("\n") : [];
  console.log(JSON.stringify({ output, error, states: [...states], done }));
}
