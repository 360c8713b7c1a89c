/** Registers one record after the other, and says each when it is acknowledged, until it is killed. */
import { createRegistry } from "../../../../src/contrib/agentspace/index.ts";

const engine = {
  register: () => Promise.reject(new Error("nothing is called")),
  unregister: () => Promise.resolve(false),
  get: () => undefined,
  execute: () => Promise.reject(new Error("nothing is called")),
};
const registry = await createRegistry(engine, { path: process.argv[2] ?? "" });
for (let at = 0; at < 100_000; at++) {
  const toolId = `tool-${at}`;
  registry.register({
    tool_id: toolId,
    tool_runtime_type: "python",
    tool_source_code_link: "./tool",
    tools_api_spec: { input: {}, output: {} },
  });
  process.stdout.write(`${toolId}\n`);
}
