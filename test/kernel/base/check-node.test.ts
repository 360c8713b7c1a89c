import { expect, test } from "vitest";
import { requireIsolates } from "../../../src/kernel/base/check-node.ts";

test("an engine in another runtime says which one it needs, and what works there", () => {
  expect(() => requireIsolates({ node: "24.3.0", bun: "1.4.5" })).toThrow(
    "an engine needs Node.js, and this is Bun 1.4.5; run the engine in Node.js, and call it with glovebox/client",
  );
  expect(() => requireIsolates({ node: "24.3.0", deno: "2.9.1" })).toThrow("this is Deno 2.9.1");
});

test("an engine under Yarn's Plug'n'Play says which setting it needs", () => {
  expect(() => requireIsolates({ node: "26.10.0", pnp: "3" })).toThrow(
    "write nodeLinker: node-modules into .yarnrc.yml",
  );
});

test("an engine in Node.js says nothing", () => {
  expect(() => requireIsolates({ node: "26.10.0" })).not.toThrow();
  expect(() => requireIsolates()).not.toThrow();
});
