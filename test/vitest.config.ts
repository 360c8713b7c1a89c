import { defineConfig } from "vitest/config";

// isolated-vm needs a process of its own for each test file: worker threads share V8 flags and cannot be ended.
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    execArgv: ["--no-node-snapshot", "--no-turboshaft-loop-unrolling", "--no-warnings"],
  },
});
