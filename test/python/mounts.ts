import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import { createEngine, type Engine, type ToolDefinition, type ToolResult } from "../../src/glovebox/index.ts";

/** Bytes of the file `big`. */
export const BIG_BYTES = 3_000_000;

/** Tools in Python, and the folders of the host that they were granted. */
export class PythonMounts {
  readonly engine: Engine;
  /** Where the folders are. */
  readonly base: string;
  #names = 0;

  private constructor(engine: Engine, base: string) {
    this.engine = engine;
    this.base = base;
  }

  /** `data` is to be read, `out` is empty and may be written, and what links lead to is elsewhere. */
  static async open(): Promise<PythonMounts> {
    const base = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-work-")));
    const host = (...names: string[]) => path.join(base, ...names);
    mkdirSync(host("data", "sub"), { recursive: true });
    mkdirSync(host("out"));
    writeFileSync(host("data", "words.txt"), "größe\r\nzwei\n");
    writeFileSync(host("data", "sub", "raw.bin"), Buffer.from([0, 200, 255]));
    writeFileSync(host("data", "big"), "x".repeat(BIG_BYTES));
    writeFileSync(host("secret.txt"), "secret");
    symlinkSync("words.txt", host("data", "link"));
    symlinkSync("../secret.txt", host("data", "out"));
    const fs = {
      data: { path: host("data"), mode: "ro" },
      out: { path: host("out"), mode: "rw" },
      scratch: { mode: "rw" },
    } as const;
    const engine = await createEngine({
      executor: "threads",
      workers: 1,
      limits: { cpuMs: 10_000, capabilityCalls: 5_000 },
      policy: { rules: [{ tools: ["files-*", "read_file"], allow: { fs } }] },
    });
    await engine.register({ name: "warm", description: "d", runtime: "python", source: "def execute(input): pass" });
    return new PythonMounts(engine, base);
  }

  host(...names: string[]): string {
    return path.join(this.base, ...names);
  }

  /** Runs a function's body, in which what a function raises can be `told`. */
  async run(
    body: string,
    more: Partial<ToolDefinition> = {},
    input: Record<string, unknown> = {},
  ): Promise<ToolResult> {
    const name = more.name ?? `files-${++this.#names}`;
    const lines = body.split("\n").map((line) => `    ${line}`);
    const source = `import csv, glob, io, json, os, shutil, stat, tempfile, zipfile
from pathlib import Path
def told(act):
    try:
        return act()
    except Exception as error:
        return [type(error).__name__, os.strerror(error.errno) if isinstance(error, OSError) else str(error)]
def execute(input):
${lines.join("\n")}`;
    const capabilities = { fs: { data: { mode: "ro" }, out: { mode: "rw" }, scratch: { mode: "rw" } } } as const;
    await this.engine.register({
      description: "works with files",
      runtime: "python",
      source,
      capabilities,
      ...more,
      name,
    });
    return this.engine.execute({ name, arguments: input });
  }

  /** What the body returns. */
  async outputOf(
    body: string,
    more: Partial<ToolDefinition> = {},
    input: Record<string, unknown> = {},
  ): Promise<unknown> {
    const { output, error } = await this.run(body, more, input);
    expect(error).toBeNull();
    return output;
  }

  async close(): Promise<void> {
    await this.engine.close();
    rmSync(this.base, { recursive: true });
  }
}
