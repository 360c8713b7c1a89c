import { createEngine, defineCapability } from "../../../../src/glovebox/index.ts";
import { ORDER } from "../order.ts";

/* One of several processes that run the calls of one file, until it is killed: `machine FILE URL`. */

const [, , path = "", url = ""] = process.argv;

/** An effect outside: a server counts it, and may be slow to answer. */
const desk = defineCapability({
  name: "desk",
  methods: {
    post: {
      handler: async (args) => {
        const response = await fetch(url, { method: "POST", body: JSON.stringify(args) });
        return (await response.json()) as unknown;
      },
    },
  },
});

await createEngine({
  workers: 1,
  executor: { kind: "threads" },
  capabilities: [desk],
  calls: { path },
  policy: { rules: [{ allow: { desk: true, pause: true } }] },
  tools: [ORDER],
});
