import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin, RuntimeSource, ToolRuntime } from "glovebox";

/** Lists of prices: each line of a file `.prices` is a name and a number, the first line says what the list is. */
const runtime: ToolRuntime = {
  name: "prices",
  engine: new URL("engine.ts", import.meta.url),
  reader: {
    extensions: [".prices"],
    bundle: async (code) => {
      const text = await textOf(code);
      return { runtime: "prices", text, bytes: Buffer.byteLength(text), sourceMap: "", sources: [] };
    },
  },
};

/** Gives an engine the runtime `prices`. */
export const prices: Plugin = { name: "prices", runtimes: [runtime] };

async function textOf(code: RuntimeSource): Promise<string> {
  if (code.kind === "text") return code.text;
  return readFile(code.kind === "file" ? code.path : join(code.folder, code.entry), "utf8");
}
