import { once } from "node:events";
import { fleetStores } from "../../../../src/fleet/server/fleet-stores.ts";
import { defineCapability } from "../../../../src/glovebox/index.ts";
import { startEngine } from "../../../../src/kernel/engine/engine.ts";
import { PLUGINS } from "../../../../src/standard/plugins.ts";
import { placeOf } from "../../../kernel/engine/programs/calls-place.ts";
import { nameOf } from "../machines.ts";
import { ORDER, PAY } from "../order.ts";
import type { GatedPlace } from "./gated-calls.ts";

/*
 * One of several processes that run the calls of one place, until it is killed: `machine PLACE KV URL`. It says when its
 * engine is ready, and takes up calls once it is told to.
 */

const [, , place = "", kv = "", url = ""] = process.argv;
const name = nameOf(process.pid);
const gate = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

/** An effect outside: a server counts it, and may be slow to answer. */
const desk = defineCapability({
  name: "desk",
  methods: {
    post: {
      handler: async (args) => {
        const { url: asked } = args as { readonly url: string };
        return (await fetch(asked, { method: "POST", headers: { machine: name } })).json();
      },
    },
  },
});

const gated = {
  name: "gated",
  stores: {
    ...fleetStores,
    calls: {
      module: new URL("gated-calls.ts", import.meta.url),
      maxBytes: 64 * 1024 ** 2,
      resolve: (): GatedPlace => ({ ...placeOf(place), gate }),
      load: () => Promise.resolve(),
    },
  },
};
const origins = [new URL(url).origin];
await startEngine({
  workers: 1,
  executor: { kind: "threads" },
  plugins: [...PLUGINS.filter((plugin) => plugin.name !== "fleet"), gated],
  capabilities: [desk],
  calls: { url: "gated://" },
  kv: kv.startsWith("redis:") ? { url: kv } : { path: kv },
  secrets: { MACHINE: { value: name, bind: [{ origin: origins[0] ?? "", in: "header:machine" }] } },
  policy: {
    rules: [
      {
        allow: {
          desk: true,
          fetch: { origins, privateOrigins: origins },
          kv: true,
          pause: true,
          secrets: ["MACHINE"],
          tools: ["pay"],
        },
      },
    ],
  },
  tools: [ORDER, PAY],
});
process.send?.("ready");
await once(process, "message");
Atomics.store(new Int32Array(gate), 0, 1);
