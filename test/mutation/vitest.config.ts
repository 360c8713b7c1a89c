import { defineConfig } from "vitest/config";
import { testFiles } from "../kinds.ts";

/** The rooms whose sources are mutated: their own tests have to find it. Tests of the sources' text would find all. */
const ROOMS = ["base", "broker", "engine", "executor"];

const files = testFiles().filter(({ kind, missing }) => kind === "unit" && missing.length === 0);

// As in `../vitest.config.ts`, but here the runner loads the sources: a mutant is switched on in what it loads, and it
// keeps what it has read from one mutant to the next.
export default defineConfig({
  test: {
    name: "unit",
    root: new URL("../..", import.meta.url).pathname,
    include: files
      .map(({ path }) => path)
      .filter((path) => ROOMS.some((room) => path.startsWith(`test/kernel/${room}/`))),
    pool: "forks",
    isolate: false,
    env: { TEST_KIND: "unit" },
    setupFiles: [new URL("../setup.ts", import.meta.url).pathname],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 120_000 } },
    restoreMocks: true,
    execArgv: ["--no-node-snapshot", "--no-turboshaft-loop-unrolling", "--no-warnings"],
  },
});
