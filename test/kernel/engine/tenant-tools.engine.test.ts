import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

const tool = (name: string, said: string) => ({
  name,
  description: `Says ${said}.`,
  source: `export default () => ${JSON.stringify(said)};`,
});
const [A, B] = [{ tenant: "a" }, { tenant: "b" }];

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: [tool("greet", "of all")] });
});
afterAll(() => engine.close());

const said = async (name: string, options: object = {}) => {
  const { output, error } = await engine.execute({ name, arguments: {} }, options);
  return error?.code ?? output;
};

describe("a tool that one tenant alone finds", () => {
  test("is called, listed and explained for that tenant, before one of the same name that all find", async () => {
    await engine.register(tool("greet", "of a"), { ...A, registrant: "key:ann" });
    await engine.register(tool("greet", "of b"), { ...B, registrant: "key:ben" });
    expect([await said("greet"), await said("greet", A), await said("greet", B)]).toEqual(["of all", "of a", "of b"]);
    expect(engine.get("greet", A)).toMatchObject({ tenant: "a", registrant: "key:ann" });
    expect(engine.get("greet")?.tenant).toBeUndefined();
    expect(engine.list(A).map(({ description }) => description)).toEqual(["Says of a."]);
    expect(engine.explain("greet", A)?.group).toBe(engine.explain("greet", B)?.group);
    expect(await engine.unregister("greet", A)).toBe(true);
    expect(await engine.unregister("greet", A)).toBe(false);
    expect([await said("greet"), await said("greet", A), await said("greet", B)]).toEqual(["of all", "of all", "of b"]);
  });

  test("is not there for anybody else, and not removed by its name alone", async () => {
    await engine.register(tool("secret", "of a"), A);
    expect([await said("secret"), await said("secret", B)]).toEqual(["tool_not_found", "tool_not_found"]);
    expect([engine.get("secret"), engine.explain("secret", B)]).toEqual([undefined, undefined]);
    expect(await engine.unregister("secret")).toBe(false);
    expect(await said("secret", A)).toBe("of a");
  });

  test("is replaced by its registrant only, whoever has the name elsewhere", async () => {
    await engine.register(tool("own", "first"), { ...A, registrant: "key:ann" });
    const other = engine.register(tool("own", "stolen"), { ...A, registrant: "key:ben" });
    await expect(other).rejects.toMatchObject({ code: "forbidden" });
    await engine.register(tool("own", "of b"), { ...B, registrant: "key:ben" });
    await engine.register(tool("own", "second"), { ...A, registrant: "key:ann" });
    expect([await said("own", A), await said("own", B)]).toEqual(["second", "of b"]);
  });

  test("has results of its own, also under the idempotency key of another tenant's call", async () => {
    await engine.register(tool("once", "of a"), A);
    await engine.register(tool("once", "of b"), B);
    const idempotencyKey = "k1";
    expect(await said("once", { ...A, idempotencyKey })).toBe("of a");
    expect(await said("once", { ...B, idempotencyKey })).toBe("of b");
    expect(await said("once", { ...A, idempotencyKey })).toBe("of a");
  });

  test("tells whose it was when it comes and goes", async () => {
    const told: unknown[] = [];
    const hear = (event: { readonly info?: { readonly tenant?: string }; readonly tenant?: string }) =>
      void told.push(event.info?.tenant ?? event.tenant);
    engine.on("tool:register", hear).on("tool:unregister", hear);
    await engine.register(tool("seen", "of a"), A);
    await engine.unregister("seen", A);
    engine.off("tool:register", hear).off("tool:unregister", hear);
    expect(told).toEqual(["a", "a"]);
  });
});
