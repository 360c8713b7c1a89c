import type { Factory, RuntimeEngine } from "../host.ts";

/** Makes the engine of WebAssembly modules: before the prelude takes `WebAssembly` away. */
export function createEngine(): RuntimeEngine {
  const { Module } = WebAssembly;
  return {
    connect: () => undefined,
    load: (code): Factory => {
      const module = new Module(code as ArrayBuffer);
      return () => ({ default: () => module });
    },
  };
}
