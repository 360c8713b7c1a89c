/**
 * What one writes in an afternoon: piscina and isolated-vm, a fresh context for each call, JSON text both ways, and a
 * timeout. It releases everything it makes and compiles the script once, without which it would not survive a minute.
 */
import { ADD_FUNCTION, END } from "../tools.ts";
import { end, isolate, TIMEOUT_MS } from "./hand-made-isolate.ts";
import { wrap } from "./raw-isolates.ts";

const script = isolate.compileScriptSync(wrap(ADD_FUNCTION));

export default function run(json: string): string {
  if (json === END) {
    end();
    return json;
  }
  const context = isolate.createContextSync();
  const tool = script.runSync(context, { reference: true, timeout: TIMEOUT_MS });
  try {
    return tool.applySync(undefined, [json], { timeout: TIMEOUT_MS }) as string;
  } finally {
    tool.release();
    context.release();
  }
}
