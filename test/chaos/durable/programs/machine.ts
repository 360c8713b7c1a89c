import { createEngine, defineCapability } from "../../../../src/glovebox/index.ts";
import { placeOf } from "../../../kernel/engine/programs/calls-place.ts";
import { ORDER } from "../order.ts";

/* One of several processes that run the calls of one place, until it is killed: `machine PLACE URL`. */

const [, , place = "", url = ""] = process.argv;

/** An effect outside: a server counts it, and may be slow to answer. */
const desk = defineCapability({
  name: "desk",
  methods: {
    post: {
      handler: async (args) => {
        const response = await fetch(url, {
          method: "POST",
          body: JSON.stringify({ ...(args as object), pid: process.pid }),
        });
        return (await response.json()) as unknown;
      },
    },
  },
});

await createEngine({
  workers: 1,
  executor: { kind: "threads" },
  capabilities: [desk],
  calls: placeOf(place),
  policy: { rules: [{ allow: { desk: true, pause: true } }] },
  tools: [ORDER],
});
