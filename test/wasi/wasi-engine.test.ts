import ivm from "isolated-vm";
import { onTestFinished, test, expect } from "vitest";
import { seedOf, textsOf } from "../../src/kernel/base/protocol/prelude.ts";
import { loadPrelude } from "../../src/kernel/tool/runtimes/prelude.ts";
import { wasi } from "../../src/wasi/runtime/runtime.ts";
import { createPure } from "../../src/kernel/executor/worker/pure.ts";
import { command } from "../kernel/base/wasm/wasm.ts";

/**
 * A realm as tools of WASI have it, with code of our own in it, which no tool has: evaluated after the prelude, with the engine as
 * `engine`.
 */
async function inRealm(hardened: boolean, text: string): Promise<unknown> {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  onTestFinished(() => isolate.dispose());
  const context = await isolate.createContext();
  const { core, parts, runtimes } = await loadPrelude({ runtimes: [wasi] });
  const texts = textsOf(parts);
  const engine = await context.eval(runtimes[0]?.engine ?? "", { reference: true });
  const boot = await context.eval(core, { reference: true });
  const host = [
    new ivm.Callback(() => 0),
    new ivm.Callback(
      createPure(
        (run) => seedOf("a key for tests", run),
        (name) => texts[name] ?? "",
      ),
    ),
  ];
  boot.applySync(undefined, [...host, hardened, engine.derefInto()]);
  const bytes = new ivm.ExternalCopy(command(1, 2).buffer).copyInto();
  return context.evalClosure(text, [engine.derefInto(), bytes], { result: { copy: true } });
}

/** All that leads to memory outside of the isolate's account, by its path: through properties, prototypes and accessors. */
const WALK = `
  const found = [];
  const seen = new Set();
  const left = [];
  const walk = (value, path) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
    seen.add(value);
    // Getters of streams answer with what nobody waits for.
    if (value instanceof Promise) value.catch(() => {});
    left.push([value, path]);
  };
  const look = ([value, path]) => {
    let tag = "";
    try { tag = Object.prototype.toString.call(value) + " " + (value.name ?? ""); } catch {}
    if (/WebAssembly|SharedArrayBuffer|Atomics/.test(tag)) found.push(path + ": " + tag);
    walk(Object.getPrototypeOf(value), path + ".__proto__");
    for (const key of Reflect.ownKeys(value)) {
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      walk(property.value, path + "." + String(key));
      walk(property.get, path + ".get " + String(key));
      walk(property.set, path + ".set " + String(key));
      try { walk(value[key], path + "." + String(key)); } catch {}
    }
  };`;

test.each([true, false])("nothing in a realm of commands leads to WebAssembly, hardened: %s", async (hardened) => {
  const text = `${WALK}
    walk(globalThis, "globalThis");
    walk((0, eval)("this"), "this");
    walk($0.load($1), "factory");
    walk($0.load($1)(), "exports");
    walk(new ($0.load($1)().AgentSpaceV1Tool)("id", {}), "tool");
    while (left.length > 0) look(left.pop());
    return [typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics, seen.size > 500, ...found];`;
  expect(await inRealm(hardened, text)).toEqual(["undefined", "undefined", "undefined", true]);
});

test("a module, an instance and a memory that somebody got hold of make no other", async () => {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  onTestFinished(() => isolate.dispose());
  const context = await isolate.createContext();
  const { runtimes } = await loadPrelude({ runtimes: [wasi] });
  const held = `const held = { module: new WebAssembly.Module($0) };
    held.instance = new WebAssembly.Instance(held.module);
    held.memory = held.instance.exports.memory;
    held.table = new WebAssembly.Table({ initial: 1, element: "anyfunc" });
    held.global = new WebAssembly.Global({ value: "i32" });
    held.buffer = new SharedArrayBuffer(1);
    globalThis.held = held;`;
  await context.evalClosure(held, [new ivm.ExternalCopy(command().buffer).copyInto()]);
  await context.eval(runtimes[0]?.engine ?? "");
  const text = `return Object.values(held).map(({ constructor }) => constructor.name);`;
  // The remaining names are inherited: no constructor among them works.
  const left = ["AbstractModuleSource", ...Array.from({ length: 5 }, () => "Object")];
  expect(await context.evalClosure(text, [], { result: { copy: true } })).toEqual(left);
});
