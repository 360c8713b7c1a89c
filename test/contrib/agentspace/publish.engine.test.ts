import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { zipSync } from "fflate";
import { expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { sample, startBench, temporaryFolder } from "./bench.ts";

const CODE = fileURLToPath(
  new URL("../../../fixtures/contracts/agentspace/greeting-tool-v1/code/function.js", import.meta.url),
);

async function startAssets(): Promise<Server> {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  const server = await createServer(engine, { port: 0, assets: { path: join(await temporaryFolder(), "assets") } });
  onTestFinished(() => server.close());
  return server;
}

/** Uploads the greeting as `zip -r greeting-tool-v1.zip code/` packs it, with `more` beside it; answers its address. */
async function publish({ url }: Server, more: Record<string, Uint8Array> = {}): Promise<string> {
  const form = new FormData();
  const archive = zipSync({ "code/function.js": readFileSync(CODE), ...more });
  form.append("asset", new Blob([new Uint8Array(archive)]), "greeting-tool-v1.zip");
  form.append("asset_metadata", JSON.stringify({ asset_name: "greeting-tool-v1", asset_version: { version: "1.0" } }));
  const response = await fetch(`${url}/upload_asset`, { method: "POST", body: form });
  return ((await response.json()) as { url: string }).url;
}

test("the address of an upload is a link by which its tool is loaded, one step after the other [C01 C07 C47 C58]", async () => {
  const server = await startAssets();
  const { engine, registry } = await startBench({ packages: { privateOrigins: [server.url] } });
  const steps: string[] = [];
  engine.on("package:step", ({ step }) => steps.push(step));
  engine.on("tool:register", () => steps.push("registered"));
  engine.on("tool:post", () => steps.push("executed"));
  registry.register(sample("greeting-tool-v1", { tool_source_code_link: await publish(server) }));
  expect(steps).toEqual([]);
  const call = { name: "greeting-tool-v1", arguments: { name: "Ann" } };
  const { output } = await registry.execute(call);
  expect(output).toEqual({ message: "Hello, Ann from tool greeting-tool-v1" });
  expect(steps).toEqual(["fetch", "extract", "install", "initialize", "registered", "executed"]);
  await registry.execute({ name: "greeting-tool-v1", arguments: { text: "ab" }, command: "uppercase" });
  expect(steps.slice(6)).toEqual(["executed"]);
});

test("a link to a place that the operator does not allow is refused, with the step and without asking anybody [C48]", async () => {
  const server = await startAssets();
  const { registry } = await startBench();
  registry.register(sample("greeting-tool-v1", { tool_source_code_link: await publish(server) }));
  const { error } = await registry.execute({ name: "greeting-tool-v1", arguments: {} });
  expect(error).toMatchObject({ code: "load_error", details: { step: "fetch" } });
});

test("an upload that leads out of its folder is kept as the bytes that it is, and is never unpacked [C78]", async () => {
  const server = await startAssets();
  const { registry } = await startBench({ packages: { privateOrigins: [server.url] } });
  const name = `glovebox-escaped-${process.pid}.js`;
  const link = await publish(server, { [`../${name}`]: new TextEncoder().encode("out") });
  registry.register(sample("greeting-tool-v1", { tool_source_code_link: link }));
  const { error } = await registry.execute({ name: "greeting-tool-v1", arguments: {} });
  expect(error).toMatchObject({ code: "load_error", details: { step: "extract" } });
  expect(existsSync(join(tmpdir(), name))).toBe(false);
});
