import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, type Engine, type EngineOptions } from "../../../../src/glovebox/index.ts";

/** An engine, and modules that are written for it. */
export interface ModuleEngine extends AsyncDisposable {
  readonly engine: Engine;
  /** Writes a module and registers it; gives the contracts of its tools by their names. */
  register(name: string, text: string, extras?: object): Promise<Record<string, string>>;
  /** The output of a call, or the code and message of its error. */
  output(name: string, args?: Record<string, unknown>): Promise<unknown>;
}

export async function openModuleEngine(options: EngineOptions = {}): Promise<ModuleEngine> {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-libraries-"));
  const engine = await createEngine({ workers: 1, executor: "threads", ...options });
  return {
    engine,
    register: async (name, text, extras = {}) => {
      const before = new Set(engine.list().map((tool) => tool.name));
      const file = join(folder, name.includes(".") ? name : `${name}.mjs`);
      await writeFile(file, text);
      await engine.register({ path: file, ...extras });
      const made = engine.list().filter((tool) => !before.has(tool.name));
      return Object.fromEntries(made.map((tool) => [tool.name, tool.contract]));
    },
    output: async (name, args = {}) => {
      const { output, error } = await engine.execute({ name, arguments: args });
      return error === null ? output : `${error.code}: ${error.message}`;
    },
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
