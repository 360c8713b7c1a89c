import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;

const ALL = ["GLOVEBOX_TEST_REGION", "GLOVEBOX_TEST_STAGE", "GLOVEBOX_TEST_KEY"];
const READS = `Object.keys(process.env).sort().map((name) => name + "=" + process.env[name]).join(" ")`;

beforeAll(async () => {
  Object.assign(process.env, {
    GLOVEBOX_TEST_REGION: "eu",
    GLOVEBOX_TEST_STAGE: "beta",
    GLOVEBOX_TEST_KEY: "12345678",
  });
  engine = await createEngine({
    executor: "threads",
    workers: 1,
    secrets: { KEY: { env: "GLOVEBOX_TEST_KEY", bind: [{ origin: "https://example.org" }] } },
    policy: {
      rules: [
        { tenants: ["all"], allow: { env: ALL } },
        { tenants: ["some"], allow: { env: ["GLOVEBOX_TEST_REGION"] } },
      ],
    },
  });
  const tool = (name: string, source: string, more: object = {}) =>
    engine.register({ name, description: "Reads variables.", source, capabilities: { env: ALL }, ...more });
  await tool("late", `export default () => ${READS};`);
  await tool(
    "early",
    `const { GLOVEBOX_TEST_REGION = "none" } = process.env; export default () => GLOVEBOX_TEST_REGION;`,
  );
  await tool("kept", `export default () => { const all = ${READS}; process.env.OWN = "1"; return all; };`, {
    isolation: "shared",
  });
  await tool(
    "waits",
    `export default ({ waitMs }) => new Promise((done) => setTimeout(() => done(${READS}), waitMs));`,
    { isolation: "shared" },
  );
  await tool("asks_nothing", `export default () => ${READS};`, { capabilities: {} });
});
afterAll(() => engine.close());

async function output(name: string, tenant: string): Promise<unknown> {
  const { output: found, error } = await engine.execute({ name, arguments: {} }, { tenant });
  return error?.message ?? found;
}

test("process.env has the variables that the call is granted, without those that hold secrets", async () => {
  expect(await output("late", "all")).toBe("GLOVEBOX_TEST_REGION=eu GLOVEBOX_TEST_STAGE=beta NODE_ENV=production");
  expect(await output("late", "some")).toBe("GLOVEBOX_TEST_REGION=eu NODE_ENV=production");
  expect(await output("late", "none")).toBe("NODE_ENV=production");
  expect(await output("asks_nothing", "all")).toBe("NODE_ENV=production");
});

test("the variables are there when the module is evaluated", async () => {
  expect(await output("early", "all")).toBe("eu");
  expect(await output("early", "none")).toBe("none");
});

test("a module that calls share has the variables of the call whose turn it is", async () => {
  expect(await output("kept", "all")).toBe("GLOVEBOX_TEST_REGION=eu GLOVEBOX_TEST_STAGE=beta NODE_ENV=production");
  engine.setPolicy({ rules: [{ allow: { env: ["GLOVEBOX_TEST_STAGE"] } }] });
  expect(await output("kept", "all")).toBe("GLOVEBOX_TEST_STAGE=beta NODE_ENV=production OWN=1");
  const [waits, narrow] = [{ waitMs: 100 }, { env: ["GLOVEBOX_TEST_STAGE"] }];
  engine.setPolicy({ rules: [{ allow: { env: ALL } }] });
  const first = engine.execute({ name: "waits", arguments: waits }, { tenant: "all" });
  const second = engine.execute({ name: "waits", arguments: { waitMs: 1 } }, { tenant: "all", capabilities: narrow });
  expect((await second).output).toBe("GLOVEBOX_TEST_STAGE=beta NODE_ENV=production");
  expect((await first).output).toBe("GLOVEBOX_TEST_REGION=eu GLOVEBOX_TEST_STAGE=beta NODE_ENV=production");
});
