import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import type { Files } from "./files.ts";
import type { Run, Verdict } from "./verdicts.ts";

const MIB = 1024 * 1024;
/** Begins the line that names a test before it runs. */
const BEGAN = "\u0001began ";

/** An engine as an operator would start it for tools that take minutes. */
export function createTestEngine(wallMs: number): Promise<Engine> {
  const limits = { cpuMs: wallMs, wallMs, memoryMb: 2_048, outputBytes: 32 * MIB, logBytes: 4 * MIB };
  return createEngine({ workers: 1, executor: "threads", limits, maxLimits: limits });
}

const FUNCTION = `
import sys
from collect import collect

spec = {"name": "NAME", "description": "Runs tests of CPython."}

def execute(job):
    log = sys.stderr
    return collect(job["module"], job["without"], lambda name: log.write(f"${BEGAN}{name}\\n"))
`;

/** A tool that runs tests: a package with the files. */
export async function withTool<Result>(
  engine: Engine,
  name: string,
  files: Files,
  use: (run: (module: string, without: readonly string[]) => Promise<Run>) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-cpython-"));
  try {
    const source = Buffer.from(FUNCTION.replace("NAME", name));
    for (const [path, bytes] of [...files, ["function.py", source] as const]) {
      mkdirSync(dirname(join(folder, "code", path)), { recursive: true });
      writeFileSync(join(folder, "code", path), bytes);
    }
    await engine.register(folder);
    return await use((module, without) => call(engine, name, module, without));
  } finally {
    rmSync(folder, { recursive: true });
    await engine.unregister(name);
  }
}

async function call(engine: Engine, name: string, module: string, without: readonly string[]): Promise<Run> {
  const job = { module: `test.${module}`, without };
  const { output, error, metadata } = await engine.execute({ name, arguments: job });
  const began = metadata.logs.filter(({ message }) => message.startsWith(BEGAN));
  return {
    verdicts: error === null ? new Map(Object.entries(output as Record<string, Verdict>)) : null,
    last: began.at(-1)?.message.slice(BEGAN.length) ?? null,
    reason: error === null ? "" : `${error.code}: ${error.message}`,
  };
}
