import type { ToolDefinition } from "../../../src/glovebox/index.ts";

/** A tool with three effects, and a wait after each. */
export const ORDER: ToolDefinition = {
  name: "order",
  description: "Has three effects, with a wait after each.",
  approval: "always",
  capabilities: { desk: true, pause: true },
  source: `export default async ({ key }, { host }) => {
    const counts = [];
    for (let n = 1; n <= 3; n++) {
      counts.push(await host.desk.post({ key, n }));
      await host.pause.until({ date: Date.now() + 100 });
    }
    return counts;
  }`,
};
