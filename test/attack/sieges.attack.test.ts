import { attack } from "./harness.ts";
import type { Siege } from "./plan.ts";

/** One hostile call ends what others run in, and they run again; many must not use up how often they may. */
const SIEGES: readonly Siege[] = [
  {
    name: "loops of calls of the same tool",
    body: "for (;;);",
    from: "the same tool",
    ends: ["cpu_limit"],
  },
  {
    name: "wedges of several tools",
    body: "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    from: "other tools",
    ends: ["cpu_limit"],
  },
  { name: "loops of several tools", body: "for (;;);", from: "other tools", ends: ["cpu_limit"] },
];

attack("calls under siege", { sieges: SIEGES });
