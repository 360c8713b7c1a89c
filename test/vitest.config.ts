import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { COMPONENTS, installCommand, MISSING, REQUIRES_ALL } from "./components.ts";
import { KIND_NAMES, type Kind, KINDS, type TestFile, testFiles } from "./kinds.ts";
import { IS_LONG } from "./length.ts";
import { KindReporter } from "./reporter.ts";
import { KindSequencer } from "./sequencer.ts";

if (REQUIRES_ALL && MISSING.length > 0) {
  const programs = MISSING.map((name) => COMPONENTS[name].program).join(", ");
  throw new Error(
    `GLOVEBOX_TEST_REQUIRE=all, but these programs are missing: ${programs}. Run: ${installCommand(MISSING)}`,
  );
}

const files = testFiles();
/** `npm run test:all -- --sequence.shuffle.files`: the order is to be random. */
const IS_SHUFFLED = process.argv.some((arg) => arg.startsWith("--sequence.shuffle"));

/** `npm run test:packages` alone installs packages from the registry. */
const IS_OF_PACKAGES = process.argv.some((arg) => arg === "packages" || arg === "--project=packages");

// Every process of a run, and all that it starts: what is built, and compiled code from run to run.
const BUILT = new URL("built.js", import.meta.url).href;
process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --import=${BUILT}`;
process.env["NODE_COMPILE_CACHE"] ??= new URL("../node_modules/.cache/glovebox-tests", import.meta.url).pathname;

function project(kind: Kind) {
  const isOfKind = (file: TestFile): boolean => (IS_LONG ? kind === "slow" && file.isLonger : file.kind === kind);
  const include = files.filter((file) => isOfKind(file) && file.missing.length === 0).map(({ path }) => path);
  return {
    extends: true as const,
    test: { name: kind, include, env: { TEST_KIND: kind }, isolate: !KINDS[kind].isShared },
  };
}

// isolated-vm needs a process of its own for each test file that uses an engine: worker threads share V8 flags and
// cannot be ended.
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    projects: KIND_NAMES.filter((kind) => kind !== "packages" || IS_OF_PACKAGES).map(project),
    reporters: ["default", new KindReporter(files)],
    pool: "forks",
    setupFiles: [new URL("setup.ts", import.meta.url).pathname],
    // Most files wait for processes and timers half of their time.
    maxWorkers: 2 * availableParallelism(),
    ...(!IS_SHUFFLED && { sequence: { sequencer: KindSequencer } }),
    // Against tests that hang: how long one takes depends on what else the machine does.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    restoreMocks: true,
    passWithNoTests: true,
    // Node loads the package, not the runner, which would transform its sources; for all kinds, as the runner remembers.
    server: { deps: { external: [/\/src\/.*\.ts/] } },
    globalSetup: new URL("build.ts", import.meta.url).pathname,
    execArgv: ["--no-node-snapshot", "--no-turboshaft-loop-unrolling", "--no-warnings"],
  },
});
