// needs: curl
/** AgentSpace as somebody uses it who has `curl`, a key and the guide, and nothing else. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import { serve, type Served } from "../../server/served.ts";
import { temporaryFolder } from "./bench.ts";

const FIXTURES = fileURLToPath(new URL("../../../fixtures/contracts/agentspace", import.meta.url));
const KEYS = { a: "gbx_a-key-of-the-tenant-a-0123456789", b: "gbx_a-key-of-the-tenant-b-0123456789" };
type Tenant = keyof typeof KEYS;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

const run = promisify(execFile);

/** Runs `curl` in a folder, as a tenant. */
async function curl(folder: string, tenant: Tenant, ...args: readonly string[]): Promise<Answer> {
  const header = ["-H", `Authorization: Bearer ${KEYS[tenant]}`];
  const { stdout } = await run("curl", ["-sS", "-w", "\n%{http_code}", ...header, ...args], {
    cwd: folder,
    env: { ...process.env, NO_PROXY: "*" },
  });
  const end = stdout.lastIndexOf("\n");
  const text = stdout.slice(0, end);
  const isJson = text.startsWith("{");
  return { status: Number(stdout.slice(end + 1)), text, json: isJson ? (JSON.parse(text) as Answer["json"]) : {} };
}

const JSON_BODY = ["-H", "Content-Type: application/json", "--data-binary"] as const;
const recordFile = (id: string): string => join(FIXTURES, id, "tool.json");

/** A service with two tenants, whose state is in a folder. */
function start(folder: string): Promise<Served> {
  const keys = Object.entries(KEYS).map(([tenant, key]) => ({
    name: `key-${tenant}`,
    hash: `sha256:${createHash("sha256").update(key).digest("hex")}`,
    tenant,
    roles: ["execute", "admin"],
  }));
  const config = join(folder, "glovebox.config.json");
  writeFileSync(
    config,
    JSON.stringify({ tools: [], keys, assets: { path: "assets" }, agentspace: { path: "registry.sqlite" } }),
  );
  return serve(["--config", config], { cwd: folder });
}

async function stop(served: Served): Promise<void> {
  served.signal("SIGTERM");
  expect(await served.exit).toBe(0);
}

function packInto(folder: string): void {
  const python = join(FIXTURES, "python");
  const greeting = readFileSync(join(python, "greeting-tool-v1/code/function.py"));
  writeFileSync(join(folder, "greeting-tool.zip"), zipSync({ "greeting/code/function.py": greeting }));
  const weather = join(python, "weather-forecast-v1/code");
  const files = ["function.py", "requirements.txt"].map((name) => [`code/${name}`, readFileSync(join(weather, name))]);
  writeFileSync(join(folder, "weather-forecast-v1.zip"), zipSync(Object.fromEntries(files) as Record<string, Buffer>));
}

test(
  "from upload to search to man page to call, again after a restart, and two tenants see their own only [C01 C03 C36 C42 C56 C58]",
  { timeout: 180_000 },
  async () => {
    const folder = await temporaryFolder();
    packInto(folder);
    const served = await start(folder);
    const as = (tenant: Tenant, path: string, ...args: readonly string[]) =>
      curl(folder, tenant, ...args, `${served.url}${path}`);
    const upload = async (name: string, file: string): Promise<string> => {
      const metadata = JSON.stringify({ asset_name: name, asset_version: { version: "1.0", tag: "stable" } });
      const form = ["-F", `asset=@./${file}`, "-F", `asset_metadata=${metadata}`];
      const { status, json } = await as("a", "/upload_asset", "-X", "POST", ...form);
      expect(status).toBe(201);
      return String(json["url"]);
    };
    const call = { name: "weather-forecast-v1", arguments: { past_days: 3 } };

    // The guide's two records, word for word: they are stored, and their packages are where nobody may fetch them.
    for (const id of ["weather-forecast-v1", "binary-increment-tool"]) {
      const registered = await as("a", "/v1/agentspace/tools", ...JSON_BODY, `@${recordFile(id)}`);
      expect(registered).toMatchObject({ status: 201, json: { tool_id: id } });
    }
    const far = await as("a", "/v1/execute", ...JSON_BODY, JSON.stringify(call));
    expect(far.json["error"]).toMatchObject({ code: "load_error", details: { step: "fetch" } });

    // With the addresses of uploads they run.
    const weather = JSON.parse(readFileSync(recordFile("weather-forecast-v1"), "utf8")) as object;
    const link = await upload("weather-forecast-v1", "weather-forecast-v1.zip");
    const replaced = { ...weather, tool_source_code_link: link };
    const conflict = await as("a", "/v1/agentspace/tools", ...JSON_BODY, JSON.stringify(replaced));
    expect(conflict.status).toBe(409);
    await as("a", "/v1/agentspace/tools?replace=1.0.0", ...JSON_BODY, JSON.stringify(replaced));
    const { tool_metadata: _metadata, ...greeting } = JSON.parse(
      readFileSync(recordFile("greeting-tool-v1"), "utf8"),
    ) as Record<string, unknown>;
    const greets = { ...greeting, tool_source_code_link: await upload("greeting", "greeting-tool.zip") };
    expect((await as("a", "/v1/agentspace/tools", ...JSON_BODY, JSON.stringify(greets))).status).toBe(201);

    const search = await as("a", "/v1/agentspace/search?q=forecast%20of%20tomorrows%20weather");
    expect((search.json["hits"] as { tool_id: string }[])[0]?.tool_id).toBe("weather-forecast-v1");
    const man = await as("a", "/v1/agentspace/tools/weather-forecast-v1/man");
    expect(man.text).toMatch(/^# weather/);
    expect(man.text).toContain("Number of past days to use for prediction; at least 1, at most 30");
    const missing = await as("a", "/v1/execute", ...JSON_BODY, JSON.stringify(call));
    expect(missing.json["error"]).toMatchObject({ type: "ValueError", message: "Missing required input: location" });
    const versions = await as("a", "/v1/agentspace/tools/weather-forecast-v1/versions");
    expect(versions.json["versions"]).toMatchObject([
      { version: "1.0.0", registered_by: "key:key-a", in_force: true },
      { version: "1.0.0", in_force: false },
    ]);

    const hello = { name: "greeting-tool-v1", arguments: { name: "Ann" } };
    const shout = { name: "greeting-tool-v1", command: "uppercase", arguments: { text: "ab" } };
    const greeted = { message: "Hello, Ann from tool greeting-tool-v1" };
    expect((await as("a", "/v1/execute", ...JSON_BODY, JSON.stringify(hello))).json["output"]).toEqual(greeted);
    expect((await as("a", "/v1/execute", ...JSON_BODY, JSON.stringify(shout))).json["output"]).toBe("AB");

    // The other tenant sees nothing of it, and may have a tool of the same id.
    expect((await as("b", "/v1/agentspace/tools")).json).toEqual({ tools: [] });
    expect((await as("b", "/v1/agentspace/search?q=greeting")).json).toEqual({ hits: [] });
    expect((await as("b", "/v1/tools")).text).toBe("[]");
    for (const path of ["", "/man", "/form", "/versions", "/spec", "/commands"]) {
      expect((await as("b", `/v1/agentspace/tools/greeting-tool-v1${path}`)).status).toBe(404);
    }
    expect((await as("b", "/v1/agentspace/tools/greeting-tool-v1", "-X", "DELETE")).status).toBe(404);
    expect((await as("b", "/v1/execute", ...JSON_BODY, JSON.stringify(hello))).status).toBe(404);
    const own = { ...greets, tool_search_description: "Of b" };
    expect((await as("b", "/v1/agentspace/tools", ...JSON_BODY, JSON.stringify(own))).status).toBe(201);
    await stop(served);

    const again = await start(folder);
    const after = (tenant: Tenant, path: string, ...args: readonly string[]) =>
      curl(folder, tenant, ...args, `${again.url}${path}`);
    expect((await after("a", "/v1/execute", ...JSON_BODY, JSON.stringify(hello))).json["output"]).toEqual(greeted);
    expect((await after("a", "/v1/execute", ...JSON_BODY, JSON.stringify(shout))).json["output"]).toBe("AB");
    const ids = async (tenant: Tenant) => {
      const { json } = await after(tenant, "/v1/agentspace/tools");
      return (json["tools"] as { tool_id: string }[]).map(({ tool_id: id }) => id);
    };
    expect(await ids("a")).toEqual(["binary-increment-tool", "greeting-tool-v1", "weather-forecast-v1"]);
    expect(await ids("b")).toEqual(["greeting-tool-v1"]);
    const mine = await after("b", "/v1/agentspace/search?q=greet");
    expect(mine.json["hits"]).toMatchObject([{ description: "Of b", registration: { registered_by: "key:key-b" } }]);
    await stop(again);
  },
);
