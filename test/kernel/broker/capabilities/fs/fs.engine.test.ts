import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ToolDefinition } from "../../../../../src/glovebox/index.ts";

const scratches = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith("glovebox-scratch-") && name.includes(`-${process.pid}-`));

const SALES = "region,amount\nnorth,10\nsouth,32\nnorth,5\n";

const REPORT = `export default async ({ table }, { host }) => {
  const lines = (await host.fs.readFile("/tables/" + table, "utf8")).trim().split("\\n").slice(1);
  const sums = {};
  for (const line of lines) {
    const [region, amount] = line.split(",");
    sums[region] = (sums[region] ?? 0) + Number(amount);
  }
  await host.fs.mkdir("/scratch/work");
  await host.fs.writeFile("/scratch/work/draft.json", JSON.stringify(sums));
  await host.fs.mkdir("/reports/2026", { recursive: true });
  await host.fs.copyFile("/scratch/work/draft.json", "/reports/2026/sums.json");
  await host.fs.writeFile("/reports/2026/mark", new Uint8Array([0, 200]));
  const entries = await host.fs.readdir("/", { recursive: true, withFileTypes: true });
  return {
    sums,
    files: entries.filter((entry) => entry.isFile()).map((entry) => entry.parentPath + "/" + entry.name).sort(),
    bytes: [...(await host.fs.readFile("/reports/2026/mark"))],
    size: (await host.fs.stat("/reports/2026/sums.json")).size,
  };
};`;

describe.each(["process", "threads"] as const)("host.fs in the executor %s", (executor) => {
  let base: string;
  let engine: Engine;
  const folder = (name: string) => path.join(base, name);

  beforeAll(async () => {
    base = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-work-")));
    for (const name of ["tables", "reports"]) mkdirSync(folder(name));
    writeFileSync(path.join(folder("tables"), "sales.csv"), SALES);
    writeFileSync(path.join(base, "secret.txt"), "secret");
    engine = await createEngine({
      executor,
      workers: 1,
      policy: {
        rules: [
          {
            tools: ["files-*"],
            allow: {
              fs: {
                tables: { path: folder("tables"), mode: "ro" },
                reports: { path: folder("reports"), mode: "rw" },
                scratch: { mode: "rw" },
              },
            },
          },
        ],
      },
    });
  });
  afterAll(async () => {
    await engine.close();
    rmSync(base, { recursive: true });
  });

  let names = 0;
  async function call(source: string, args: Record<string, unknown> = {}, more: Partial<ToolDefinition> = {}) {
    const name = more.name ?? `files-${++names}`;
    const capabilities = {
      fs: { tables: { mode: "ro" }, reports: { mode: "rw" }, scratch: { mode: "rw" } },
    } as const;
    await engine.register({ description: "works with files", source, capabilities, ...more, name });
    return engine.execute({ name, arguments: args });
  }

  test.each(["instance", "context"] as const)("does a small real job in a realm of its %s", async (isolation) => {
    const result = await call(REPORT, { table: "sales.csv" }, { isolation });
    expect(result.error).toBeNull();
    expect(result.output).toEqual({
      sums: { north: 15, south: 32 },
      files: ["/reports/2026/mark", "/reports/2026/sums.json", "/scratch/work/draft.json", "/tables/sales.csv"],
      bytes: [0, 200],
      size: 23,
    });
    expect(readFileSync(path.join(folder("reports"), "2026", "sums.json"), "utf8")).toBe('{"north":15,"south":32}');
    expect(readFileSync(path.join(folder("reports"), "2026", "mark"))).toEqual(Buffer.from([0, 200]));
  });

  test("is denied elsewhere, with what to do about it and no path of the host", async () => {
    const outcomes: readonly (readonly [source: string, message: string])[] = [
      ["host.fs.readFile('/etc/passwd')", 'there is no mount "etc"'],
      ["host.fs.readFile('/tables/../../../etc/passwd')", 'there is no mount "etc"'],
      ["host.fs.writeFile('/tables/sales.csv', '')", 'the mount "tables" is read-only'],
      ["host.fs.readdir('/secret.txt')", 'there is no mount "secret.txt"'],
    ];
    for (const [source, message] of outcomes) {
      const { error } = await call(`export default (_, { host }) => ${source}`);
      expect(error?.code).toBe("capability_denied");
      expect(error?.message).toContain(message);
      expect(error?.message).toContain('granted: fs "tables" (ro), "reports" (rw), "scratch" (rw)');
      expect(error?.message).toContain("to grant it, ");
      expect(JSON.stringify(error)).not.toContain(base);
    }
    expect(readFileSync(path.join(folder("tables"), "sales.csv"), "utf8")).toBe(SALES);
  });

  test("is denied to a tool of which no rule speaks", async () => {
    const capabilities = { fs: { tables: { mode: "ro" } } } as const;
    await engine.register({ name: "stranger", description: "has no rule", source: REPORT, capabilities });
    const { error } = await engine.execute({ name: "stranger", arguments: { table: "sales.csv" } });
    expect(error?.code).toBe("capability_denied");
  });

  test("tells errors of the system as Node does, and a tool may catch them", async () => {
    const source = `export default async (_, { host }) => {
      try { await host.fs.readFile("/tables/none.csv"); }
      catch (error) { return [error instanceof Error, error.code, error.path, error.syscall, error.message]; }
    }`;
    const message = "ENOENT: no such file or directory, open '/tables/none.csv'";
    expect((await call(source)).output).toEqual([true, "ENOENT", "/tables/none.csv", "open", message]);
  });

  test("leaves no scratch folder, however the call ends", async () => {
    const use = `await host.fs.writeFile("/scratch/x", "x".repeat(1000));`;
    const ends = ["return 1", "throw new Error('no')", "for (;;);", "await new Promise(() => {})"];
    for (const end of ends) {
      const source = `export default async (_, { host }) => { ${use} ${end}; }`;
      await call(source, {}, { limits: { wallMs: 500, cpuMs: 100 } });
    }
    await expect.poll(scratches).toEqual([]);
  });

  test("gives no call what another has in its scratch folder", async () => {
    const source = `export default async (_, { host }) => {
      const before = await host.fs.readdir("/scratch");
      await host.fs.writeFile("/scratch/x", "mine");
      return before;
    }`;
    expect((await call(source)).output).toEqual([]);
    expect((await call(source)).output).toEqual([]);
  });

  test("gives a tool nothing that another call has in common with it, but what is frozen", async () => {
    const source = `export default async (_, { host }) => {
      const before = String(host.fs.readFile.left);
      host.fs.readFile.left = 1;
      const stats = await host.fs.stat("/tables");
      const error = await host.fs.stat("/tables/none").catch((thrown) => thrown);
      const made = [host.fs.readFile, stats, stats.isFile, error];
      const shared = made.flatMap((object) => [Object.getPrototypeOf(object), object.constructor]);
      const open = shared.filter((each) => !Object.isFrozen(each));
      return { before, open: open.map(String) };
    }`;
    const name = "files-left";
    expect((await call(source, {}, { name })).output).toEqual({ before: "undefined", open: [] });
    expect((await engine.execute({ name, arguments: {} })).output).toEqual({ before: "undefined", open: [] });
  });
});
