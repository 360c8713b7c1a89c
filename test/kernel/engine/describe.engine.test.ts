import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { refusalOf, temporaryFolder } from "../tool/temporary.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});
afterAll(() => engine.close());

const OURS = `export const spec = { name: 5 }; export default () => 1;`;
const MOUNTED = `export async function mount(coordinator, config) {
  await coordinator.mount("tools", { name: config.name, description: "", execute: async () => ({}) }, { name: "a" });
}`;

describe("what modules say of themselves", () => {
  test("is told in the terms of their contracts, with their config, whether it is right or not", async () => {
    const folder = await temporaryFolder({ "ours.js": OURS, "theirs.js": MOUNTED });
    expect(await engine.describe({ path: folder, config: { name: "made" } })).toMatchObject([
      { name: "ours", contract: "glovebox", described: null, spec: { name: 5 }, defaultExport: "function" },
      {
        name: "theirs",
        contract: "amplifier",
        described: { mounts: [{ name: "a", tool: { name: "made", description: "", is_tool: true } }] },
        spec: null,
        defaultExport: "undefined",
      },
    ]);
  });

  test("makes no tools of them", async () => {
    const folder = await temporaryFolder({ "made.js": MOUNTED });
    await engine.describe({ path: join(folder, "made.js"), config: { name: "made" } });
    expect(engine.list()).toEqual([]);
  });

  test("is not to be had of what does not load, nor from an engine that is closed", async () => {
    const folder = await temporaryFolder({ "a.js": "throw new Error('no');" });
    expect((await refusalOf(engine.describe(folder))).code).toBe("load_error");
    const closed = await createEngine({ workers: 1, executor: "threads" });
    await closed.close();
    expect((await refusalOf(closed.describe(folder))).code).toBe("engine_closed");
  });
});
