import { fileURLToPath } from "node:url";
import { createEngine, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";

/** The folder of the documents' own modules, line by line. */
export const MODULES = fileURLToPath(new URL("../../../fixtures/contracts/amplifier", import.meta.url));

/** Where one of them is. */
export function moduleAt(name: string): string {
  return `${MODULES}/${name}.js`;
}

export function openEngine(options: EngineOptions = {}): Promise<Engine> {
  return createEngine({ workers: 1, executor: "threads", ...options });
}

/** A module that mounts one tool, whose `execute` has this body. */
export function moduleOf(name: string, body: string, more = ""): string {
  return `
    class Tool {
      name = ${JSON.stringify(name)};
      description = "Does something for a test.";
      ${more}
      async execute(input) { ${body} }
    }
    export async function mount(coordinator, config) {
      await coordinator.mount("tools", new Tool(), { name: "mounted-${name}" });
      return null;
    }`;
}
