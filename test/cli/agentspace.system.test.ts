import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { createServer } from "../../src/server/http/server.ts";
import { temporaryFolder } from "../contrib/agentspace/bench.ts";
import { glovebox } from "./command.ts";

const RECORDS = fileURLToPath(new URL("../../fixtures/contracts/agentspace", import.meta.url));
const recordFile = (id: string): string => join(RECORDS, id, "tool.json");

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Runs `glovebox agentspace` in a folder. */
async function agentspace(cwd: string, ...args: readonly string[]): Promise<Ended> {
  const { code, stdout: out, stderr: errors } = await glovebox(cwd, ["agentspace", ...args], { NO_PROXY: "*" });
  return { code, out, errors };
}

async function folderWithConfig(): Promise<string> {
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "glovebox.config.json"), JSON.stringify({ agentspace: { path: "registry.sqlite" } }));
  return folder;
}

describe("the commands of the registry", () => {
  test("register, list, search, show and remove records of the configuration's file", async () => {
    const folder = await folderWithConfig();
    const run = (...args: readonly string[]) => agentspace(folder, ...args);
    const registered = await run("register", recordFile("weather-forecast-v1"));
    expect(registered).toEqual({ code: 0, out: "weather-forecast-v1: registered, revision 1\n", errors: "" });
    const again = await run("register", recordFile("weather-forecast-v1"));
    expect(again).toMatchObject({ code: 1, errors: expect.stringContaining("there is a tool") });
    expect((await run("register", recordFile("weather-forecast-v1"), "--replace", "1.0.0")).code).toBe(0);
    const listed = await run("list", "--tag", "weather", "api");
    expect(listed.out).toBe(
      "weather-forecast-v1  1.0.0    Next-day weather forecasting tool using historical data and external API\n",
    );
    expect(await run("list", "--type", "utility")).toEqual({ code: 0, out: "", errors: "" });
    const found = await run("search", "weather", "of", "tomorrow", "--json");
    expect(JSON.parse(found.out)).toMatchObject([{ tool_id: "weather-forecast-v1", score: expect.any(Number) }]);
    expect((await run("man", "weather-forecast-v1")).out).toMatch(/^# weather/);
    const versions = await run("versions", "weather-forecast-v1");
    expect(versions.out.split("\n").slice(0, 2)).toEqual([
      expect.stringMatching(/^2 {2}1\.0\.0 {2}\S+ {2}operator {2}in force$/),
      expect.stringMatching(/^1 {2}1\.0\.0 {2}\S+ {2}operator$/),
    ]);
    expect(await run("remove", "weather-forecast-v1")).toEqual({
      code: 0,
      out: "weather-forecast-v1: removed\n",
      errors: "",
    });
    expect(await run("man", "weather-forecast-v1")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("no tool"),
    });
  });

  test("print JSON where they are asked to", async () => {
    const folder = await folderWithConfig();
    const id = "weather-forecast-v1";
    const run = async (...args: readonly string[]): Promise<unknown> =>
      JSON.parse((await agentspace(folder, ...args, "--json")).out);
    expect(await run("register", recordFile(id))).toMatchObject({ tool_id: id, registration: { revision: 1 } });
    expect(await run("list")).toMatchObject([{ tool_id: id }]);
    expect(await run("man", id)).toEqual({ tool_id: id, page: expect.stringMatching(/^# weather/) });
    expect(await run("versions", id)).toMatchObject([{ revision: 1, in_force: true }]);
    expect(await run("remove", id)).toEqual({ tool_id: id, removed: true });
    expect(await run("list")).toEqual([]);
  });

  test("are told what is wrong with a record, a file and the command line", async () => {
    const folder = await folderWithConfig();
    writeFileSync(join(folder, "wrong.json"), '{ "tool_id": "a b" }');
    writeFileSync(join(folder, "none.json"), "nothing");
    const codeOf = async (...args: readonly string[]) => (await agentspace(folder, ...args)).code;
    expect(await codeOf("register", "wrong.json")).toBe(3);
    expect(await codeOf("register", "none.json")).toBe(3);
    expect(await codeOf("register", "absent.json")).toBe(2);
    expect(await codeOf("list", "--key-env", "KEY")).toBe(2);
    expect(await codeOf("search", "a", "--limit", "101")).toBe(2);
    const bare = await agentspace(await temporaryFolder(), "list");
    expect(bare).toMatchObject({ code: 2, errors: expect.stringContaining("agentspace.path") });
  });

  test("are for a server's registry as well", async () => {
    const engine = await createEngine({ workers: 1, executor: "threads" });
    await using server = await createServer(engine, { port: 0, admin: "open", agentspace: { path: ":memory:" } });
    const folder = await temporaryFolder();
    const run = (...args: readonly string[]) => agentspace(folder, ...args, "--url", server.url);
    expect((await run("register", recordFile("binary-increment-tool"))).code).toBe(0);
    const conflict = await run("register", recordFile("binary-increment-tool"));
    expect(conflict).toMatchObject({ code: 1, errors: expect.stringContaining("409: there is a tool") });
    expect((await run("list")).out).toMatch(/^binary-increment-tool/);
    expect((await run("search", "increment")).out).toMatch(/^binary-increment-tool/);
    expect((await run("man", "binary-increment-tool")).out).toMatch(/^# binary/);
    expect(JSON.parse((await run("versions", "binary-increment-tool", "--json")).out)).toMatchObject([
      { in_force: true },
    ]);
    expect((await run("remove", "binary-increment-tool")).code).toBe(0);
    expect(await run("remove", "binary-increment-tool")).toMatchObject({
      code: 1,
      errors: expect.stringContaining("404"),
    });
    expect(await run("list", "--tenant", "a")).toMatchObject({ code: 2 });
  });
});
