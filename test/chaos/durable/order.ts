import type { ToolDefinition } from "../../../src/glovebox/index.ts";

/** A tool with an effect of each kind, and a wait after each. Its answers: how often each has happened, and of what it wrote the version. */
export const ORDER: ToolDefinition = {
  name: "order",
  description: "Has an effect of each kind, with a wait after each.",
  approval: "always",
  capabilities: {
    desk: true,
    fetch: { origins: ["*"], methods: ["POST"] },
    kv: true,
    pause: true,
    secrets: ["MACHINE"],
    tools: ["pay"],
  },
  source: `export default async ({ key, url }, { host }) => {
    const headers = { machine: "{secret:MACHINE}" };
    const answers = [];
    for (const act of [
      () => host.desk.post({ url: url + "?key=" + key + "&n=1" }),
      async () => (await fetch(url + "?key=" + key + "&n=2", { method: "POST", headers })).json(),
      () => host.kv.set(key, "written"),
      () => host.tools.pay({ url: url + "?key=" + key + "&n=3" }),
    ]) {
      answers.push(await act());
      await host.pause.until({ date: Date.now() + 100 });
    }
    return answers;
  }`,
};

/** A tool with an effect, which others call. */
export const PAY: ToolDefinition = {
  name: "pay",
  description: "Has one effect.",
  capabilities: { desk: true },
  source: "export default ({ url }, { host }) => host.desk.post({ url });",
};

/** Effects of one call that a server counts. */
export const COUNTED = 3;
