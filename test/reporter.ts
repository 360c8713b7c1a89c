import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { type ComponentName, COMPONENTS, installCommand, MISSING } from "./components.ts";
import { KIND_NAMES, type Kind, KINDS, type TestFile } from "./kinds.ts";

const TIMES_FILE = fileURLToPath(new URL("../.glovebox/test-times.json", import.meta.url));
const DEAREST = 40;

interface Row {
  files: number;
  passed: number;
  failed: number;
  skipped: number;
  ms: number;
  cpuMs: number;
  processes: number;
  threads: number;
}

/** One file's time and work, as `.glovebox/test-times.json` lists it. */
interface FileRow extends Row {
  readonly file: string;
  readonly kind: string;
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
    const rows = rowsOf(modules);
    mkdirSync(dirname(TIMES_FILE), { recursive: true });
    writeFileSync(TIMES_FILE, `${JSON.stringify(rows, null, 1)}\n`);
    const lines = [...tableOf(rows), ...this.#notRun(), ...this.#retried(modules)];
    this.#vitest?.logger.log(`\n${lines.join("\n")}\n`);
  }

  #notRun(): string[] {
    const selected = this.#vitest?.config.project ?? [];
    const isSelected = (kind: Kind): boolean =>
      !selected.includes(`!${kind}`) && (selected.every((name) => name.startsWith("!")) || selected.includes(kind));
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

  /** A test that passes at the second try hides a defect: of the code, or of the test, which depends on something else. */
  #retried(modules: readonly TestModule[]): string[] {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.ok() && (test.diagnostic()?.retryCount ?? 0) > 0)
        .map((test) => `  ${module.relativeModuleId} > ${test.fullName}`),
    );
    return retried.length === 0 ? [] : [`Passed at the second try: ${retried.length}`, ...retried];
  }
}

const COLUMNS = ["files", "passed", "failed", "skipped", "time", "cpu", "processes", "threads"];

function usersOf(name: ComponentName): string {
  return name === "bubblewrap" ? "tests inside its sandbox are skipped" : "no test of this run needs it";
}

/** Time and work of each file, the longest first. */
function rowsOf(modules: readonly TestModule[]): FileRow[] {
  return modules.map(fileRow).sort((one, other) => other.ms - one.ms);
}

function fileRow(module: TestModule): FileRow {
  const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic();
  const { cpuMs = 0, processes = 0, threads = 0 } = module.meta().usage ?? {};
  const row = {
    file: module.relativeModuleId,
    kind: module.project.name,
    files: 1,
    passed: 0,
    failed: 0,
    skipped: 0,
    ms: Math.round(collectDuration + duration + prepareDuration + setupDuration),
    cpuMs: Math.round(cpuMs),
    processes,
    threads,
  };
  for (const test of module.children.allTests())
    row[test.result().state === "pending" ? "skipped" : countOf(test.result().state)] += 1;
  return row;
}

function sumOf(rows: readonly Row[]): Row {
  const sum: Row = { files: 0, passed: 0, failed: 0, skipped: 0, ms: 0, cpuMs: 0, processes: 0, threads: 0 };
  for (const row of rows) for (const key of Object.keys(sum) as (keyof Row)[]) sum[key] += row[key];
  return sum;
}

function tableOf(rows: readonly FileRow[]): string[] {
  const kinds = KIND_NAMES.flatMap((kind) => {
    const own = rows.filter((row) => row.kind === kind);
    return own.length === 0 ? [] : [lineOf(kind, sumOf(own), KINDS[kind].what)];
  });
  const dearest = rows.length > DEAREST ? rows.slice(0, DEAREST) : [];
  return [
    `${"kind".padEnd(12)}${COLUMNS.map((name) => name.padStart(10)).join("")}`,
    ...kinds,
    lineOf("all", sumOf(rows), ""),
    ...(dearest.length === 0
      ? []
      : ["", `The ${DEAREST} files that take the longest; all of them: .glovebox/test-times.json`]),
    ...dearest.map((row) => lineOf(row.kind, row, row.file)),
  ];
}

function lineOf(name: string, row: Row, what: string): string {
  const seconds = [row.ms, row.cpuMs].map((ms) => `${(ms / 1_000).toFixed(1)} s`);
  const cells = [row.files, row.passed, row.failed, row.skipped, ...seconds, row.processes, row.threads];
  return `${name.padEnd(12)}${cells.map((cell) => `${cell}`.padStart(10)).join("")}   ${what}`;
}

function countOf(state: string): "passed" | "failed" | "skipped" {
  return state === "passed" || state === "failed" ? state : "skipped";
}
