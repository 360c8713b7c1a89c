/** Where results go: a folder that is not part of the repository. */
const RESULTS = ".glovebox/mutation";

export default {
  mutate: [
    "src/kernel/base/**/*.ts",
    "src/kernel/broker/**/*.ts",
    "src/kernel/engine/call/**/*.ts",
    "src/kernel/engine/schedule/**/*.ts",
    "src/kernel/executor/dispatch/**/*.ts",
  ],
  // The words of errors are no behaviour, and the types check the words that are.
  mutator: { excludedMutations: ["StringLiteral"] },
  plugins: ["@stryker-mutator/vitest-runner"],
  testRunner: "vitest",
  vitest: { configFile: "test/mutation/vitest.config.ts", pool: "forks", related: true },
  coverageAnalysis: "perTest",
  // A static mutant has all tests to run, each in a new process.
  ignoreStatic: true,
  concurrency: 1,
  // Nothing checks types here, and the compiler of TypeScript 7 has no functions that could.
  tsconfigFile: "none",
  disableTypeChecks: false,
  ignorePatterns: ["/.glovebox", "/built", "/compiled", "/dist"],
  tempDirName: `${RESULTS}/sandbox`,
  reporters: ["progress-append-only", "clear-text", "json", "html"],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: `${RESULTS}/mutation.json` },
  htmlReporter: { fileName: `${RESULTS}/mutation.html` },
};
