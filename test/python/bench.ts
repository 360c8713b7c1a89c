import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type ToolDefinition,
  type ToolResult,
} from "../../src/glovebox/index.ts";

/** What is made before the first call of Python: its image, where nobody has made it yet. */
export const PYTHON_MS = 300_000;

const CONTRACTS = fileURLToPath(new URL("../../fixtures/contracts", import.meta.url));

/** A file with what the documents have, byte for byte. */
export function documentFile(file: string): string {
  return join(CONTRACTS, file);
}

export function documentText(file: string): string {
  return readFileSync(documentFile(file), "utf8");
}

/** An engine with tools in Python. */
export class PythonBench {
  readonly engine: Engine;
  readonly folder = mkdtempSync(join(tmpdir(), "glovebox-python-"));
  #files = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  static async open(options: EngineOptions = {}): Promise<PythonBench> {
    return new PythonBench(
      await createEngine({
        workers: 1,
        executor: "threads",
        maxLimits: { cpuMs: 60_000, wallMs: 120_000 },
        ...options,
      }),
    );
  }

  /** Registers a module as a file, so that it says itself what its tools are; answers their names. */
  async register(source: string, more: object = {}): Promise<string[]> {
    const before = new Set(this.engine.list().map(({ name }) => name));
    const path = join(this.folder, `module${++this.#files}.py`);
    writeFileSync(path, source);
    await this.engine.register({ path, ...more });
    const names = this.engine.list().map(({ name }) => name);
    return names.filter((name) => !before.has(name));
  }

  /** The tool of a text in our own contract, with `execute` in it. */
  async tool(source: string, more: Partial<ToolDefinition> = {}): Promise<string> {
    const name = `tool-${++this.#files}`;
    await this.engine.register({ name, description: "A tool.", runtime: "python", source, ...more });
    return name;
  }

  run(name: string, args: Record<string, unknown> = {}): Promise<ToolResult> {
    return this.engine.execute({ name, arguments: args });
  }

  /** What comes of a text's `execute`. */
  async once(
    source: string,
    args: Record<string, unknown> = {},
    more: Partial<ToolDefinition> = {},
  ): Promise<ToolResult> {
    return this.run(await this.tool(source, more), args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine.close();
    rmSync(this.folder, { recursive: true });
  }
}
