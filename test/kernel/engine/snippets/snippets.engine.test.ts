import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import {
  type AuditRecord,
  createEngine,
  type Engine,
  type EngineOptions,
  GloveboxError,
} from "../../../../src/glovebox/index.ts";
import { ID } from "../../../long-integers.ts";

/* A program that is saved becomes a tool of one tenant, which does no more than its author and its caller may. */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-snippets-"));
});
afterAll(() => rm(folder, { recursive: true }));

const tool = (name: string) => ({ name, description: name, source: `export default ({ n }) => "${name} " + n;` });
const OPTIONS = {
  executor: { kind: "threads" },
  workers: 1,
  tools: [...["crm.list", "crm.get", "mail.send"].map(tool), { ...tool("pay"), approval: "always" }],
} as const satisfies EngineOptions;

const BOTH = {
  name: "report",
  description: "Lists and gets.",
  code: "return [await tools.crm.list({ n: input.n }), await tools.crm.get({ n: input.n })];",
};

const saves = (engine: Engine, definition: object, author = {}) =>
  engine.snippets.save({ ...BOTH, ...definition }, author).then(
    () => "saved",
    (error: unknown) => (error instanceof GloveboxError ? `${error.code}: ${error.message}` : String(error)),
  );

const call = (name: string, n = 1) => ({ name, arguments: { n } });

describe("a snippet", () => {
  test("is a tool of its tenant, and is there for no other", async () => {
    await using engine = await createEngine(OPTIONS);
    const saved = await engine.snippets.save(BOTH, { tenant: "acme", key: "ada" });
    expect(saved).toMatchObject({
      name: "report",
      tenant: "acme",
      author: "ada",
      tools: ["crm.get", "crm.list"],
      unusable: null,
    });
    const { output } = await engine.execute(call("snippets.report", 7), { tenant: "acme" });
    expect(output).toEqual(["crm.list 7", "crm.get 7"]);
    for (const tenant of ["other", undefined]) {
      const { error } = await engine.execute(call("snippets.report"), tenant === undefined ? {} : { tenant });
      expect(error?.code).toBe("tool_not_found");
      expect(await engine.snippets.list({ tenant })).toEqual([]);
    }
  });

  test("is in the audit when it is saved and when it is deleted, with the name of the key", async () => {
    const entries: AuditRecord[] = [];
    await using engine = await createEngine({ ...OPTIONS, audit: (entry) => void entries.push(entry) });
    const by = { tenant: "acme", key: "ada" };
    const { version } = await engine.snippets.save(BOTH, by);
    await engine.snippets.delete("report", by);
    await engine.close();
    const of = { name: "report", tenant: "acme", key: "ada", time: expect.any(String) as string };
    expect(entries).toEqual([
      { ...of, act: "save_snippet", version },
      { ...of, act: "delete_snippet" },
    ]);
  });

  test("is called by other programs, unless code mode leaves snippets out", async () => {
    const code = "return tools.snippets.report({ n: 1 }).catch(({ code }) => code);";
    const run = { name: "run_code", arguments: { code } };
    const results = [["crm.list 1", "crm.get 1"], "tool_not_found"];
    for (const [at, options] of [{}, { snippets: false }].entries()) {
      await using engine = await createEngine({ ...OPTIONS, codeMode: options });
      await engine.snippets.save(BOTH, {});
      const { output } = await codeMode(engine, { ...options, typeCheck: "off" }).execute(run);
      expect(output).toMatchObject({ result: results[at] });
    }
  });

  test("is called by programs of its tenant, also after they have waited", async () => {
    await using engine = await createEngine({ ...OPTIONS, codeMode: {}, calls: { path: ":memory:" } });
    await engine.snippets.save(BOTH, { tenant: "acme" });
    const code =
      "return [await tools.snippets.report({ n: 1 }), await tools.pay({ n: 2 }), await tools.snippets.report({ n: 3 })];";
    const { error } = await codeMode(engine, { tenant: "acme" }).run(code);
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    const wait = (await engine.calls.durable.get(id))?.waits[0];
    const digest = wait?.kind === "approval" ? wait.digest : "";
    await engine.calls.decide(id, { wait: wait?.step ?? 0, decision: "approve", digest });
    const result = await engine.calls.result(id, {}, { waitMs: 25_000 });
    const lists = [1, 3].map((n) => [`crm.list ${n}`, `crm.get ${n}`]);
    expect(result).toMatchObject({ error: null, output: { result: [lists[0], "pay 2", lists[1]] } });
  });

  test("may call what its text names, of what its caller may call, and nothing else", async () => {
    await using engine = await createEngine(OPTIONS);
    const code = `
      const outcomes = [];
      for (const name of ["crm.list", "crm.get", "mail.send"]) {
        const [space, member] = name.split(".");
        outcomes.push(await tools[space][member]({ n: 1 }).catch((error) => error.code));
      }
      return [...outcomes, await tools.crm.list({ n: 2 }).catch(({ code }) => code), await tools.crm.get({ n: 2 }).catch(({ code }) => code)];`;
    await engine.snippets.save({ ...BOTH, code }, { tools: ["crm.*"] });
    const run = async (tools: readonly string[]) => (await engine.execute(call("snippets.report"), { tools })).output;
    const all = ["crm.list 1", "crm.get 1", "tool_not_found", "crm.list 2", "crm.get 2"];
    expect(await run(["snippets.*", "crm.list", "crm.get", "mail.send", "pay"])).toEqual(all);
    const one = ["crm.list 1", "tool_not_found", "tool_not_found", "crm.list 2", "tool_not_found"];
    expect(await run(["snippets.*", "crm.list"])).toEqual(one);
  });

  test("is not saved where its author may not call what it names, or its program is wrong", async () => {
    await using engine = await createEngine(OPTIONS);
    expect(await saves(engine, {}, { tools: ["crm.list"] })).toBe(
      "forbidden: the snippet names tools that its author may not call: crm.get",
    );
    expect(await saves(engine, { code: "return tools.crm.lst({ n: 1 });" })).toMatch(
      /^invalid_arguments: .*crm\.list/s,
    );
    expect(await saves(engine, { code: "return (" })).toMatch(/^invalid_arguments/);
    expect(await saves(engine, { name: "no name" })).toMatch(/^invalid_arguments: name must be/);
    expect(await saves(engine, { callId: "x" })).toMatch(/^invalid_arguments: give either code/);
    expect(await saves(engine, { description: " " })).toMatch(/^invalid_arguments: description/);
    expect(await saves(engine, { inputSchema: { type: "nothing" } })).toMatch(/^load_error/);
    expect(await engine.snippets.list()).toEqual([]);
  });

  test("checks its input by its schema, and tells the line of an error", async () => {
    await using engine = await createEngine(OPTIONS);
    const code = "const { n } = input;\n\nthrow new Error('no ' + n);";
    const inputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    await engine.snippets.save({ ...BOTH, code, inputSchema });
    const wrong = await engine.execute({ name: "snippets.report", arguments: { n: "x" } });
    expect(wrong.error?.code).toBe("invalid_arguments");
    const exact = { type: "object", properties: { n: { const: ID } } };
    await engine.snippets.save({ ...BOTH, name: "exact", code: "return input.n;", inputSchema: exact });
    expect((await engine.execute({ name: "snippets.exact", arguments: { n: ID } })).output).toBe(`${ID}`);
    const near = await engine.execute({ name: "snippets.exact", arguments: { n: ID + 1n } });
    expect(near.error?.code).toBe("invalid_arguments");
    const { error } = await engine.execute(call("snippets.report", 3));
    const details = { stack: expect.stringContaining("program.ts:3") };
    expect(error).toMatchObject({ code: "tool_error", message: "no 3", details });
  });

  test("is what a kept call has run, with the types of its input", async () => {
    await using engine = await createEngine({
      ...OPTIONS,
      codeMode: {},
      calls: { path: ":memory:", keep: "everything" },
    });
    const code = "const name = ['crm', 'get']; return tools[name[0]][name[1]](input);";
    const { metadata } = await codeMode(engine, { tenant: "acme" }).run(code, {
      id: "tried",
      input: { n: 4, tags: ["a"] },
    });
    const saved = await engine.snippets.save(
      { name: "taken", description: "Gets.", callId: metadata.callId },
      { tenant: "acme" },
    );
    expect(saved).toMatchObject({
      code,
      tools: ["crm.get"],
      isInferred: true,
      inputSchema: {
        properties: { n: { type: "number" }, tags: { type: "array", items: { type: "string" } } },
        required: ["n", "tags"],
      },
    });
    const again = await engine.execute({ name: "snippets.taken", arguments: { n: 5, tags: [] } }, { tenant: "acme" });
    expect(again.output).toBe("crm.get 5");
    expect(await saves(engine, { code: undefined, callId: "none" })).toMatch(
      /callId names no program: no such call is kept/,
    );
  });

  describe("of a kept call", () => {
    const calls = { path: ":memory:", keep: "everything" } as const;
    const taken = async (engine: Engine, code: string, definition = {}, options = {}) => {
      const { metadata } = await codeMode(engine, { tenant: "acme", ...options }).run(code, { input: { n: 1 } });
      const given = { name: "taken", description: "Gets.", callId: metadata.callId, ...definition };
      return engine.snippets.save(given, { tenant: "acme" });
    };

    test("shows models what that call has returned, and may return something else", async () => {
      await using engine = await createEngine({ ...OPTIONS, codeMode: {}, calls });
      const saved = await taken(engine, "return input.n > 0 ? { n: input.n, tags: ['a'] } : 'none';");
      const inferredOutputSchema = {
        type: "object",
        properties: { n: { type: "number" }, tags: { type: "array", items: { type: "string" } } },
        required: ["n", "tags"],
      };
      expect(saved).toMatchObject({ outputSchema: null, inferredOutputSchema });
      const mode = codeMode(engine, { tenant: "acme" });
      const declared = "taken(input: { n: number }): Promise<{ n: number; tags: string[] }>; // as one output was\n";
      expect(mode.get("run_code")?.description).toContain(declared);
      const found = await mode.execute({ name: "search_tools", arguments: { query: "taken", detail: "full" } });
      expect(found.output).toMatchObject({ declarations: expect.stringContaining(declared) });
      const other = await engine.execute({ name: "snippets.taken", arguments: { n: 0 } }, { tenant: "acme" });
      expect(other).toMatchObject({ error: null, output: "none" });
      // Nor does the checker of programs take one output for all.
      expect(await mode.check("return tools.snippets.taken({ n: await tools.snippets.taken({ n: 0 }) });")).toEqual([]);
    });

    test("shows nothing of a value that is not there, is a preview, or has a schema", async () => {
      await using engine = await createEngine({ ...OPTIONS, codeMode: {}, calls });
      const none = { inferredOutputSchema: null };
      expect(await taken(engine, "await tools.crm.get(input);")).toMatchObject(none);
      expect(await taken(engine, "throw new Error('no');")).toMatchObject(none);
      expect(await taken(engine, "return 'a'.repeat(2_000);", {}, { resultChars: 1_000 })).toMatchObject(none);
      const outputSchema = { type: "number" };
      expect(await taken(engine, "return 1;", { outputSchema })).toMatchObject({ outputSchema, ...none });
      expect(codeMode(engine, { tenant: "acme" }).get("run_code")?.description).toContain("Promise<number>;\n");
    });

    test("shows the same in another engine with the same store, and after a restart", async () => {
      const path = join(folder, "inferred.sqlite");
      const options = { ...OPTIONS, codeMode: {}, calls: { ...calls, path } };
      const shown = async (engine: Engine) => {
        const snippets = await engine.snippets.list({ tenant: "acme" });
        const { description = "" } = codeMode(engine, { tenant: "acme" }).get("run_code") ?? {};
        return [snippets.map((one) => one.inferredOutputSchema), /taken.*/.exec(description)?.[0]];
      };
      await using other = await createEngine(options);
      const same = [[{ type: "number" }], "taken(input: { n: number }): Promise<number>; // as one output was"];
      {
        await using engine = await createEngine(options);
        await taken(engine, "return input.n;");
        expect(await shown(engine)).toEqual(same);
      }
      await using engine = await createEngine(options);
      expect(await shown(engine)).toEqual(same);
      expect(await shown(other)).toEqual(same);
    });
  });

  test("says which of its tools is gone, and is there no more once it is deleted", async () => {
    await using engine = await createEngine(OPTIONS);
    await engine.snippets.save(BOTH);
    await engine.unregister("crm.get");
    expect(await engine.snippets.get("report")).toMatchObject({ unusable: "the tool crm.get is gone" });
    expect(await engine.snippets.delete("report")).toBe(true);
    expect(await engine.snippets.delete("report")).toBe(false);
    expect((await engine.execute(call("snippets.report"))).error?.code).toBe("tool_not_found");
  });

  test("that is saved anew while a call of it waits lets that call end on its old version", async () => {
    const path = join(folder, "anew.sqlite");
    const code = (said: string) => `return [await tools.pay({ n: 1 }), await tools.crm.list({ n: 2 }), "${said}"];`;
    let id: string;
    {
      await using engine = await createEngine({ ...OPTIONS, calls: { path } });
      await engine.snippets.save({ ...BOTH, code: code("old") }, { tenant: "acme" });
      const { error } = await engine.execute(call("snippets.report"), { tenant: "acme" });
      expect(error?.code).toBe("paused");
      id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    }
    await using engine = await createEngine({ ...OPTIONS, calls: { path } });
    await engine.snippets.save({ ...BOTH, code: code("new").replace("crm.list", "crm.get") }, { tenant: "acme" });
    const wait = (await engine.calls.durable.get(id))?.waits[0];
    const digest = wait?.kind === "approval" ? wait.digest : "";
    await engine.calls.decide(id, { wait: wait?.step ?? 0, decision: "approve", digest });
    const result = await engine.calls.result(id, {}, { waitMs: 120_000 });
    expect(result).toMatchObject({ error: null, output: ["pay 1", "crm.list 2", "old"] });
  });

  test("is there after a restart, and in another engine with the same store", async () => {
    const path = join(folder, "restart.sqlite");
    await using other = await createEngine({ ...OPTIONS, calls: { path } });
    {
      await using engine = await createEngine({ ...OPTIONS, calls: { path } });
      await engine.snippets.save(BOTH);
    }
    await using engine = await createEngine({ ...OPTIONS, calls: { path } });
    expect((await engine.execute(call("snippets.report", 2))).output).toEqual(["crm.list 2", "crm.get 2"]);
    expect(await other.snippets.list()).toHaveLength(1);
    expect((await other.execute(call("snippets.report", 3))).output).toEqual(["crm.list 3", "crm.get 3"]);
    await engine.snippets.delete("report");
    expect(await other.snippets.list()).toEqual([]);
    expect((await other.execute(call("snippets.report"))).error?.code).toBe("tool_not_found");
  });
});
