import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  defineCapability,
  type Engine,
  type EngineOptions,
  type PolicyRule,
  type ToolResult,
} from "../../../src/glovebox/index.ts";
import { unless, works } from "../../kernel/executor/bubblewrap.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { moduleOf, openEngine } from "./modules.ts";

/** A module whose tool is given the host, and what it asks for. */
function kindOf(name: string, body: string, capabilities: object): string {
  return `${moduleOf(name, body).replace("execute(input)", "execute(input, { host })")}
    export const spec = ${JSON.stringify({ capabilities })};`;
}

interface Tried {
  readonly engine: Engine;
  readonly result: ToolResult;
}

/** Calls a module's tool, with a policy and without, and answers how it went where it was allowed. */
async function tried(
  name: string,
  text: string,
  rules: readonly PolicyRule[],
  more: EngineOptions = {},
): Promise<Tried> {
  const folder = await temporaryFolder({ [`${name}.js`]: text });
  const call = { name, arguments: {} };
  await using stranger = await openEngine(more);
  await stranger.register(join(folder, `${name}.js`));
  expect((await stranger.execute(call)).error?.code).toBe("capability_denied");
  const engine = await openEngine({ ...more, policy: { rules } });
  onTestFinished(() => engine.close());
  await engine.register(join(folder, `${name}.js`));
  return { engine, result: await engine.execute(call) };
}

describe("a kind of tool is a group of capabilities, that a policy allows", () => {
  test("files [A58]", async () => {
    const body = `await host.fs.writeFile("/scratch/a.txt", "written"); return { output: await host.fs.readFile("/scratch/a.txt", "utf8") };`;
    const asked = { fs: { scratch: { mode: "rw" } } };
    const rules: PolicyRule[] = [{ tools: ["files"], allow: { fs: { scratch: { mode: "rw" } } } }];
    expect((await tried("files", kindOf("files", body, asked), rules)).result.output).toBe("written");
  });

  test.skipIf(!works)(`commands${unless} [A58]`, async () => {
    const body = `return { output: (await host.exec.run({ command: "echo $((40 + 2))" })).stdout };`;
    const rules: PolicyRule[] = [{ tools: ["commands"], allow: { exec: true } }];
    expect((await tried("commands", kindOf("commands", body, { exec: true }), rules)).result.output).toBe("42\n");
  });

  test("the web [A58]", async () => {
    const server = createServer((_request, response) => response.end("a page"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = `return { output: await (await fetch("${origin}/")).text() };`;
    const rules: PolicyRule[] = [{ tools: ["web"], allow: { fetch: { origins: [], privateOrigins: [origin] } } }];
    expect((await tried("web", kindOf("web", body, { fetch: { origins: [origin] } }), rules)).result.output).toBe(
      "a page",
    );
  });

  test("delegation [A58]", async () => {
    const body = `return { output: await host.tools.call("helper", { depth: 1 }).catch((error) => { if (error.code === "capability_denied") throw error; return error.code; }) };`;
    const rules: PolicyRule[] = [{ tools: ["delegates"], allow: { tools: ["helper"] } }];
    const { engine } = await tried("delegates", kindOf("delegates", body, { tools: ["helper"] }), rules);
    await engine.register({
      name: "helper",
      description: "helps",
      source: "export default ({ depth }) => ({ depth })",
    });
    expect((await engine.execute({ name: "delegates", arguments: {} })).output).toEqual({ depth: 1 });
  });

  test("something of one's own [A58]", async () => {
    const stock = defineCapability({
      name: "stock",
      methods: { count: { input: { type: "object" }, output: { type: "integer" }, handler: () => 3 } },
    });
    const body = `return { output: await host.stock.count({}) };`;
    const rules: PolicyRule[] = [{ tools: ["own"], allow: { stock: true } }];
    const more = { capabilities: [stock] };
    expect((await tried("own", kindOf("own", body, { stock: true }), rules, more)).result.output).toBe(3);
  });
});
