import { createEngine, defineCapability } from "../../../../src/glovebox/index.ts";
import { placeOf } from "./calls-place.ts";

/*
 * A process with an engine over a place of calls. `pause FILE NAME`: calls a tool, says the id, and waits to be killed.
 * `approve FILE ID`: approves all that the call waits for, without a tool. `finish FILE ID`: waits for its result, with
 * another version of its tool, and says what has happened outside. `tell FILE - URL`: tells an
 * address what waits, and says so. With an address, others do so, too.
 */

const [, , role = "", path = "", what = "", url] = process.argv;
const told = url === undefined ? {} : { notify: [{ url, secret: "a secret of many characters" }] };
const effects: unknown[] = [];
const ledger = defineCapability({ name: "ledger", methods: { add: { handler: (args) => void effects.push(args) } } });
const version = role === "finish" ? "new" : "old";

await using engine = await createEngine({
  workers: 1,
  capabilities: [ledger],
  calls: { ...placeOf(path), ...told, resume: role === "finish" },
  policy: { rules: [{ allow: { ledger: true, pause: true, tools: ["*"] } }] },
  tools:
    role === "approve"
      ? []
      : [
          {
            name: "order",
            description: "Orders after a person's yes.",
            capabilities: { ledger: true, pause: true },
            source: `export default async ({ item }, { host }) => {
        const drawn = Math.random();
        await host.ledger.add({ before: item });
        const { data } = await host.pause.approval({ message: "Order?", data: { item, drawn } });
        await host.ledger.add({ after: item });
        return { version: ${JSON.stringify(version)}, item, drawn, data };
      }`,
          },
          {
            name: "refund",
            description: "Refunds.",
            approval: "always",
            capabilities: { ledger: true },
            source: `export default async ({ item }, { host }) => {
        await host.ledger.add({ refunded: item });
        return { version: ${JSON.stringify(version)} };
      }`,
          },
        ],
});

const { durable } = engine.calls;
switch (role) {
  case "pause": {
    const { error } = await engine.execute({ name: what, arguments: { item: 7 } });
    console.log(JSON.stringify({ code: error?.code, details: error?.details, effects }));
    await new Promise(() => setInterval(() => undefined, 1_000));
    break;
  }
  case "approve": {
    const call = await durable.get(what);
    for (const wait of call?.waits ?? []) {
      if (wait.kind === "approval")
        await durable.decide(what, { wait: wait.step, decision: "approve", digest: wait.digest, data: "yes" });
    }
    console.log(JSON.stringify({ state: (await durable.get(what))?.state, waits: call?.waits }));
    break;
  }
  case "tell": {
    engine.on("call:notify", ({ outcome, id }) => {
      if (outcome === "delivered") console.log(JSON.stringify({ id }));
    });
    await new Promise(() => setInterval(() => undefined, 1_000));
    break;
  }
  default: {
    const result = await durable.result(what, {}, { waitMs: 120_000 });
    console.log(JSON.stringify({ result, effects }));
  }
}
