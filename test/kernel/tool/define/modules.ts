import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Modules of tools as files: below the repository, so that they find its packages. */
export interface Modules extends AsyncDisposable {
  /** Writes a module and returns its path. */
  write(name: string, text: string): Promise<string>;
}

export async function openModules(): Promise<Modules> {
  const folder = await mkdtemp(join(fileURLToPath(new URL(".", import.meta.url)), ".modules-"));
  return {
    write: async (name, text) => {
      const file = join(folder, name);
      await writeFile(file, text);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The libraries by name: what a module imports of each. */
export const IMPORTS = {
  zod: 'import { z } from "zod";',
  valibot: 'import * as v from "valibot";\nimport { toStandardJsonSchema } from "@valibot/to-json-schema";',
  arktype: 'import { type } from "arktype";',
  json: "",
} as const;

export type Library = keyof typeof IMPORTS;

/** A module with a tool of `defineTool`. */
export function toolModule(library: Library, name: string, members: string): string {
  return `import { defineTool } from "glovebox/tool";
${IMPORTS[library]}
export default defineTool({ name: ${JSON.stringify(name)}, description: "A tool of a test.", ${members} });
`;
}
