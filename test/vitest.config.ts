import { defineConfig } from "vitest/config";
import { COMPONENTS, installCommand, MISSING, REQUIRES_ALL } from "./components.ts";
import { KIND_NAMES, type Kind, testFiles } from "./kinds.ts";
import { KindReporter } from "./reporter.ts";

if (REQUIRES_ALL && MISSING.length > 0) {
  const programs = MISSING.map((name) => COMPONENTS[name].program).join(", ");
  throw new Error(
    `GLOVEBOX_TEST_REQUIRE=all, but these programs are missing: ${programs}. Run: ${installCommand(MISSING)}`,
  );
}

const files = testFiles();

function project(kind: Kind) {
  const include = files.filter((file) => file.kind === kind && file.missing.length === 0).map(({ path }) => path);
  return {
    extends: true as const,
    // Unit tests share a process: starting one costs more than most of them.
    test: { name: kind, include, isolate: kind !== "unit", ...(kind === "unit" && { env: { GLOVEBOX_TEST_SHARED: "yes" } }) },
  };
}

// isolated-vm needs a process of its own for each test file that uses an engine: worker threads share V8 flags and
// cannot be ended.
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    projects: KIND_NAMES.map(project),
    reporters: ["default", new KindReporter(files)],
    pool: "forks",
    setupFiles: [new URL("setup.ts", import.meta.url).pathname],
    maxWorkers: "100%",
    testTimeout: 30_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    passWithNoTests: true,
    execArgv: ["--no-node-snapshot", "--no-turboshaft-loop-unrolling", "--no-warnings"],
  },
});
