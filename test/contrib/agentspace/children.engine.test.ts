import { expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import { moduleFile, sample, startBench } from "./bench.ts";
import { ANYBODY } from "../../../src/server/access/caller.ts";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";

const GREETING = sample("greeting-tool-v1");
const ID = GREETING.tool_id;

const CALLER = {
  name: "caller",
  description: "Calls the tool it is given.",
  source: "export default ({ name }, { host }) => host.tools.call(name, { name: 'Ann' });",
  capabilities: { tools: ["*"] },
};

test("a tool that was never called is loaded for the call of another tool", async () => {
  const policy = { rules: [{ allow: { tools: ["*"] } }] };
  const { engine, registry } = await startBench({ tools: [CALLER], policy });
  registry.register(GREETING);
  const call = (name: string) => engine.execute({ name: "caller", arguments: { name } });
  expect((await call(ID)).output).toEqual({ message: `Hello, Ann from tool ${ID}` });
  expect((await call("nobody")).error?.message).toContain('there is no tool "nobody"');
});

test("a program calls a tool that was never called, and the version that is in force", async () => {
  const { engine, registry } = await startBench({ codeMode: { typeCheck: "off" } });
  registry.register(GREETING);
  const scoped = new ScopedEngine(engine, undefined, registry);
  const mode = scoped.codeModeFor(ANYBODY);
  const code = `return await tools[${JSON.stringify(ID)}]({ name: "Ann" })`;
  expect((await mode.run(code)).output).toMatchObject({ result: { message: `Hello, Ann from tool ${ID}` } });
  const text = 'export class AgentSpaceV1Tool { execute() { return { message: "new" }; } }';
  registry.register({ ...GREETING, tool_source_code_link: await moduleFile(text) }, { replace: true });
  expect((await mode.run(code)).output).toMatchObject({ result: { message: "new" } });
});

test("a program is told why a tool could not be loaded, and goes on", async () => {
  const { engine, registry } = await startBench({ codeMode: { typeCheck: "off" } });
  registry.register({ ...GREETING, tool_source_code_link: await moduleFile("export class AgentSpaceV1Tool {") });
  const mode = new ScopedEngine(engine, undefined, registry).codeModeFor(ANYBODY);
  const code = `try { await tools[${JSON.stringify(ID)}]({}) } catch (error) { return error.code }`;
  expect((await mode.run(code)).output).toMatchObject({
    result: "load_error",
    calls: [{ tool: ID, code: "load_error" }],
  });
});

test("tools and programs of an engine whose registry is closed find its tools no more", async () => {
  const { engine, registry } = await startBench();
  registry.register(GREETING);
  await registry.close();
  const { error } = await codeMode(engine, { typeCheck: "off" }).run(`return await tools[${JSON.stringify(ID)}]({})`);
  expect(error?.message).toContain("there is no tool");
});
