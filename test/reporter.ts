import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { type ComponentName, COMPONENTS, installCommand, MISSING, REQUIRES_ALL } from "./components.ts";
import { KIND_NAMES, type Kind, KINDS, type TestFile } from "./kinds.ts";
import { isKnownRetry } from "./known-retries.ts";

const RETRIES_FILE = fileURLToPath(new URL("../.glovebox/retried-tests.txt", import.meta.url));

interface Row {
  files: number;
  passed: number;
  failed: number;
  skipped: number;
  ms: number;
}

/** Says at the end of a run: time by kind, what did not run and why, and which tests needed a second try. */
export class KindReporter implements Reporter {
  readonly #files: readonly TestFile[];
  #vitest: Vitest | undefined;

  constructor(files: readonly TestFile[]) {
    this.#files = files;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = [...tableOf(modules), ...this.#notRun(), ...this.#retried(modules)];
    this.#vitest?.logger.log(`\n${lines.join("\n")}\n`);
  }

  #notRun(): string[] {
    const selected = this.#vitest?.config.project ?? [];
    const isSelected = (kind: Kind): boolean => selected.length === 0 || selected.includes(kind);
    const lines: string[] = [];
    const others = KIND_NAMES.filter((kind) => !isSelected(kind));
    if (others.length > 0) lines.push(`Not part of this run: ${others.join(", ")}. All kinds: npm run test:all`);
    const skipped = this.#files.filter((file) => isSelected(file.kind) && file.missing.length > 0);
    for (const name of MISSING) {
      const count = skipped.filter((file) => file.missing.includes(name)).length;
      lines.push(`Missing: ${COMPONENTS[name].program} (${count > 0 ? `${count} test files skipped` : usersOf(name)})`);
    }
    if (MISSING.length > 0) lines.push(`To have all tests run: ${installCommand(MISSING)}`);
    return lines;
  }

  #retried(modules: readonly TestModule[]): string[] {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.ok() && (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => ({ file: module.relativeModuleId, name: test.fullName })),
    );
    mkdirSync(dirname(RETRIES_FILE), { recursive: true });
    writeFileSync(RETRIES_FILE, retried.map(({ file, name }) => `${file} > ${name}\n`).join(""));
    if (retried.length === 0) return [];
    const unknown = retried.filter(({ file }) => !isKnownRetry(file));
    if (REQUIRES_ALL && unknown.length > 0) process.exitCode = 1;
    return [
      `Passed at the second try: ${retried.length}, ${unknown.length} of them not in test/known-retries.ts`,
      ...retried.map(({ file, name }) => `  ${isKnownRetry(file) ? "known  " : "UNKNOWN"} ${file} > ${name}`),
    ];
  }
}

function usersOf(name: ComponentName): string {
  return name === "bubblewrap" ? "tests inside its sandbox are skipped" : "no test of this run needs it";
}

function tableOf(modules: readonly TestModule[]): string[] {
  const rows = new Map<string, Row>();
  for (const module of modules) {
    const kind = module.project.name;
    const row = rows.get(kind) ?? { files: 0, passed: 0, failed: 0, skipped: 0, ms: 0 };
    rows.set(kind, row);
    row.files += 1;
    const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic();
    row.ms += collectDuration + duration + prepareDuration + setupDuration;
    for (const test of module.children.allTests())
      row[test.result().state === "pending" ? "skipped" : countOf(test.result().state)] += 1;
  }
  const body = KIND_NAMES.flatMap((kind) => {
    const row = rows.get(kind);
    if (row === undefined) return [];
    const cells = [row.files, row.passed, row.failed, row.skipped, `${(row.ms / 1_000).toFixed(1)} s`];
    return [`${kind.padEnd(12)}${cells.map((cell) => `${cell}`.padStart(10)).join("")}   ${KINDS[kind].what}`];
  });
  return [`kind             files    passed    failed   skipped      time`, ...body];
}

function countOf(state: string): "passed" | "failed" | "skipped" {
  return state === "passed" || state === "failed" ? state : "skipped";
}
