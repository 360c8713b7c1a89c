import { build } from "esbuild";
import { fileURLToPath } from "node:url";

/** Something that Glovebox takes away from a realm: a script that does the same to a bare context, with nothing of Glovebox. */
export interface Change {
  readonly reason: string;
  readonly text: string;
}

/** What no realm has, because it would escape limits or carry state between calls. */
export const REMOVALS: readonly Change[] = [
  {
    reason: "`SharedArrayBuffer` and `Atomics` are missing",
    text: `delete globalThis.SharedArrayBuffer;
      delete globalThis.Atomics;`,
  },
  {
    reason: "buffers of variable length are missing",
    text: `delete ArrayBuffer.prototype.resize;
      globalThis.ArrayBuffer = new Proxy(ArrayBuffer, {
        construct: (target, [length], newTarget) => Reflect.construct(target, [length], newTarget),
      });`,
  },
  {
    reason: "`WeakRef` and `FinalizationRegistry` are missing",
    text: `delete globalThis.WeakRef;
      delete globalThis.FinalizationRegistry;`,
  },
  {
    reason: "the statics of `RegExp` are missing, which keep the last match, and `compile` of its prototype",
    text: `delete RegExp.prototype.compile;
      for (const name of Object.getOwnPropertyNames(RegExp)) {
        if (!/^(?:input|last|left|right|\\$)/.test(name)) continue;
        const get = () => {
          throw new Error("RegExp.$1, RegExp.lastMatch and the like do not exist inside an isolate: use what match() or exec() returns");
        };
        delete RegExp[name];
        Object.defineProperty(RegExp, name, { get, configurable: true });
      }`,
  },
];

/** Freezes what a script can reach: written without a look at the product, and simpler. */
export const FREEZING: Change = {
  reason: "the test changes a built-in object or the global one, or looks whether it could: both are frozen",
  text: `const samples = [
      function* () {}, async function () {}, async function* () {}, (function* () {})(), (async function* () {})(),
      [].values(), new Map().values(), new Set().values(), ""[Symbol.iterator](), "".matchAll(/./g),
      Iterator.from({ next() {} }), [].values().map(String), new Intl.Segmenter().segment(""),
      new Intl.Segmenter().segment("")[Symbol.iterator](),
    ];
    const found = new Set([globalThis, ...samples.map(Object.getPrototypeOf)]);
    found.forEach((object) => {
      const properties = Reflect.ownKeys(object).map((key) => Reflect.getOwnPropertyDescriptor(object, key));
      const inner = properties.flatMap((property) => [property.value, property.get, property.set]);
      for (const each of [...inner, Object.getPrototypeOf(object)]) if (Object(each) === each) found.add(each);
    });
    found.forEach((object) => Object.freeze(object));`,
};

/** Freezes with the product's own function, without anything else of the product. */
export async function hardening(): Promise<Change> {
  const entry = fileURLToPath(new URL("../../../src/kernel/guest/harden.ts", import.meta.url));
  const options = { bundle: true, format: "iife", globalName: "hardening", write: false } as const;
  const { outputFiles } = await build({ entryPoints: [entry], ...options });
  return {
    reason:
      "prototypes are frozen: what an object inherits from them cannot be assigned, or is an accessor that lets it be",
    text: `${outputFiles[0]?.text ?? ""}\nhardening.harden(globalThis, []);`,
  };
}
