import { expect, test } from "vitest";
import { createEngine } from "../../../../src/glovebox/index.ts";

/** Marks every object that the host's faces, and what they fail with, lead to; answers those that were marked before. */
const MARKS = `
const reach = (roots) => {
  const found = new Set(roots);
  const add = (value) => {
    if (value !== null && (typeof value === "object" || typeof value === "function")) found.add(value);
  };
  found.forEach((object) => {
    add(Object.getPrototypeOf(object));
    for (const key of Reflect.ownKeys(object)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
      [value, get, set].forEach(add);
    }
  });
  return found;
};
export default async (input, { host }) => {
  const roots = [host, host.env, host.kv, host.kv.keys(), host.tools, host.tools.call, host.secrets, host.other];
  for (const ask of [() => host.tools.call("fails"), () => host.kv.get("a\\0b"), () => host.other.thing()]) {
    try { await ask(); } catch (error) { roots.push(error); }
  }
  const marked = [];
  for (const object of reach(roots)) {
    if (Object.hasOwn(object, "mark")) marked.push(String(object.name));
    try { object.mark = true; } catch {}
  }
  return { roots: roots.length, marked };
};`;

test("what the host gives to a tool carries nothing to its next call", async () => {
  const policy = { rules: [{ allow: { tools: ["fails"], kv: true } }] } as const;
  await using engine = await createEngine({ workers: 1, executor: "threads", policy, kv: { path: ":memory:" } });
  const fails = "export default () => { throw new Error('no'); };";
  await engine.register({ name: "fails", description: "fails", source: fails });
  const capabilities = { tools: ["fails"], kv: true } as const;
  await engine.register({ name: "marks", description: "marks", source: MARKS, capabilities });
  for (let call = 0; call < 2; call++) {
    const { output } = await engine.execute({ name: "marks", arguments: {} });
    expect(output).toEqual({ roots: 11, marked: [] });
  }
});
