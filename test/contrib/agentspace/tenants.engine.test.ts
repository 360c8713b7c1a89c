import { describe, expect, test } from "vitest";
import type { RegistrationRecord } from "../../../src/contrib/agentspace/index.ts";
import { moduleFile, openRegistry, sample, startBench, temporaryFolder } from "./bench.ts";
import { join } from "node:path";

const GREETING = sample("greeting-tool-v1");
const ID = GREETING.tool_id;
const [A, B] = [{ tenant: "a" }, { tenant: "b" }];

async function answering(message: string): Promise<RegistrationRecord> {
  const text = `export class AgentSpaceV1Tool { execute() { return { message: ${JSON.stringify(message)} }; } }`;
  return { ...GREETING, tool_source_code_link: await moduleFile(text) };
}

const codeOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

describe("a tenant's record", () => {
  test("is nobody else's: others neither list, read, find, call nor remove it", async () => {
    const { engine, registry } = await startBench();
    registry.register(GREETING, { ...A, registeredBy: "key:ann" });
    for (const whose of [B, {}]) {
      expect(registry.list(whose)).toEqual([]);
      expect(registry.page(whose)).toEqual({ tools: [] });
      expect(registry.get(ID, whose)).toBeUndefined();
      expect(registry.versions(ID, whose)).toEqual([]);
      expect((await registry.search("greeting", whose)).hits).toEqual([]);
      expect(await registry.remove(ID, whose)).toBe(false);
      const call = { name: ID, arguments: {} };
      expect((await registry.execute(call, whose)).error?.code).toBe("tool_not_found");
      expect((await engine.execute(call, whose)).error?.code).toBe("tool_not_found");
    }
    const own = await registry.execute({ name: ID, arguments: { name: "Ann" } }, A);
    expect(own.output).toEqual({ message: `Hello, Ann from tool ${ID}` });
    expect([engine.list(), engine.list(B), engine.list(A).map(({ name }) => name)]).toEqual([[], [], [ID]]);
    expect(engine.get(ID, A)).toMatchObject({ tenant: "a", registrant: "key:ann" });
  });

  test("may have the id that another tenant's has", async () => {
    const { registry } = await startBench();
    registry.register(await answering("of a"), { ...A, registeredBy: "key:ann" });
    registry.register(await answering("of b"), { ...B, registeredBy: "key:ben" });
    const said = async (whose: object) => (await registry.execute({ name: ID, arguments: {} }, whose)).output;
    expect([await said(A), await said(B), await said(A)]).toEqual([
      { message: "of a" },
      { message: "of b" },
      { message: "of a" },
    ]);
    expect(await registry.remove(ID, B)).toBe(true);
    expect([await said(A), await said(B)]).toEqual([{ message: "of a" }, null]);
  });

  test("stands before one of all tenants, whose id is not for a tenant to take", async () => {
    const { registry } = await startBench();
    registry.register(await answering("own"), A);
    registry.register(await answering("of all"));
    const said = async (whose: object) => (await registry.execute({ name: ID, arguments: {} }, whose)).output;
    expect([await said(A), await said(B), await said({})]).toEqual([
      { message: "own" },
      { message: "of all" },
      { message: "of all" },
    ]);
    expect(registry.page(A).tools).toHaveLength(1);
    expect(registry.list(A)).toHaveLength(1);
    expect(codeOf(() => registry.register(GREETING, { ...B, replace: true }))).toBe("conflict");
    await registry.remove(ID, A);
    expect(await said(A)).toEqual({ message: "of all" });
  });

  test("may be replaced by any key of its tenant", async () => {
    const { engine, registry } = await startBench();
    registry.register(await answering("first"), { ...A, registeredBy: "key:ann" });
    await registry.execute({ name: ID, arguments: {} }, A);
    registry.register(await answering("second"), { ...A, registeredBy: "key:amy", replace: true });
    expect((await registry.execute({ name: ID, arguments: {} }, A)).output).toEqual({ message: "second" });
    expect(engine.get(ID, A)?.registrant).toBe("key:amy");
  });

  test("leaves room for those of others", async () => {
    const { registry } = await startBench({}, { path: ":memory:", maxRecords: 8 });
    const put = (at: number, whose: object) => registry.register({ ...GREETING, tool_id: `t${at}` }, whose);
    put(1, A);
    put(2, A);
    expect(codeOf(() => put(3, A))).toBe("full");
    put(1, B);
    for (let at = 3; at < 8; at++) put(at, {});
    expect(codeOf(() => put(9, {}))).toBe("full");
  });
});

describe("the registration of a record", () => {
  test("says by whom and when, and so does each version, of which the last is in force", async () => {
    const path = join(await temporaryFolder(), "records.sqlite");
    const { engine, registry } = await startBench({}, { path });
    const version = (text: string) => ({ ...GREETING, tool_metadata: { version: text } });
    registry.register(version("1"), { ...A, registeredBy: "key:ann" });
    registry.register(version("2"), { ...A, registeredBy: "key:amy", replace: "1" });
    await registry.close();
    const again = await openRegistry(engine, { path });
    const found = again.find(ID, A)?.registration;
    expect(found).toMatchObject({ registered_by: "key:amy" });
    expect(new Date(found?.created_at ?? "") <= new Date(found?.updated_at ?? "")).toBe(true);
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const revision = found?.revision;
    expect(again.versions(ID, A)).toEqual([
      { revision, version: "2", registered_by: "key:amy", registered_at: at, in_force: true },
      { revision: 1, version: "1", registered_by: "key:ann", registered_at: at, in_force: false },
    ]);
    await again.remove(ID, A);
    expect(again.versions(ID, A)).toEqual([]);
  });

  test("is kept of the last fifty versions", async () => {
    const { registry } = await startBench();
    for (let at = 0; at < 60; at++) registry.register(GREETING, { replace: true });
    const versions = registry.versions(ID);
    expect([versions.length, versions[0]?.revision, versions.at(-1)?.revision]).toEqual([50, 60, 11]);
  });
});

test("a page has so many records, and says where the next begins", async () => {
  const { registry } = await startBench();
  const ids = Array.from({ length: 25 }, (_, at) => `t${String(at).padStart(2, "0")}`);
  for (const [at, id] of ids.entries()) {
    registry.register({ ...GREETING, tool_id: id, tool_tags: [at % 2 === 0 ? "even" : "odd"] });
  }
  const all = (filter: object): string[] => {
    const found: string[] = [];
    for (let after: string | undefined = ""; after !== undefined;) {
      const page = registry.page({ ...filter, after, limit: 10 });
      found.push(...page.tools.map(({ tool_id: id }) => id));
      after = page.next;
    }
    return found;
  };
  expect(all({})).toEqual(ids);
  expect(all({ tags: ["even"] })).toEqual(ids.filter((_, at) => at % 2 === 0));
  expect(registry.page({ tags: ["none"] })).toEqual({ tools: [] });
  expect(registry.page({ limit: 10 }).tools).toHaveLength(10);
});
