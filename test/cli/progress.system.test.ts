import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../kernel/broker/capabilities/fetch/server.ts";
import { buildTarGz } from "../kernel/tool/package/build-tar.ts";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { MAIN } from "../server/served.ts";

const OTHERS = 11;
const RECORD = {
  tool_id: "greeting-tool-v1",
  tool_runtime_type: "javascript",
  tool_source_code_link: "https://tools.example/greeting.tar.gz",
  tool_search_description: "Greets somebody.",
  tools_api_spec: { input: { name: { type: "string" } }, output: { message: { type: "string" } } },
};
const ARCHIVE = buildTarGz([
  { name: "tool.json", data: JSON.stringify(RECORD) },
  { name: "code/function.js", data: 'export class AgentSpaceV1Tool { execute() { return { message: "Hello" }; } }' },
]);

test("a terminal is told how many tools are loaded, and which was the last, while one takes long", async () => {
  const asked = Promise.withResolvers<void>();
  await using archives = await serve(async (_request, response) => {
    await asked.promise;
    response.end(ARCHIVE);
  });
  const files = Array.from({ length: OTHERS }, (_, at) => [
    `tools/tool${at}.js`,
    `export const spec = { name: "tool${at}", description: "Is loaded." };\nexport default () => ${at};\n`,
  ]);
  const config = {
    tools: ["./tools", `${archives.origin}/greeting.tar.gz`],
    packages: { privateOrigins: [archives.origin] },
  };
  const folder = await temporaryFolder({
    ...Object.fromEntries(files),
    "glovebox.config.json": JSON.stringify(config),
  });
  // util-linux's: it gives a command a terminal of its own.
  const command = [process.execPath, ...MAIN, "list"].join(" ");
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], { cwd: folder });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit");
  let shown = "";
  child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  await expect.poll(() => shown).toMatch(/\[Kglovebox: loading tools, 11 of 12, tool\d+, \d+ s/);
  asked.resolve();
  expect(await ended).toEqual([0, null]);
  // The line is gone before the list is printed.
  expect(shown.split("\u001b[K").at(-1)).toMatch(/^greeting-tool-v1 .*Greets somebody\./);
});
