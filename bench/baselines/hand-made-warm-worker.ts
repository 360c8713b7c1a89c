/**
 * What one writes in an afternoon and tunes in another: piscina and isolated-vm, JSON text both ways, a timeout, and a
 * context that stays. It is faster than a fresh one by far; but what a call leaves there, the next one finds.
 */
import { BURN_FUNCTION } from "../burn.ts";
import { ADD_FUNCTION, END } from "../tools.ts";
import { end, isolate, TIMEOUT_MS } from "./hand-made-isolate.ts";
import { wrap } from "./raw-isolates.ts";

/** Of work that is meant to take long. */
const BURN_TIMEOUT_MS = 30_000;

const context = isolate.createContextSync();
const open = (functionText: string) =>
  isolate.compileScriptSync(wrap(functionText)).runSync(context, { reference: true });
const addTool = open(ADD_FUNCTION);
const burnTool = open(BURN_FUNCTION);

export default function run(json: string): string {
  if (json === END) {
    end();
    return json;
  }
  return addTool.applySync(undefined, [json], { timeout: TIMEOUT_MS }) as string;
}

export function burn(json: string): string {
  return burnTool.applySync(undefined, [json], { timeout: BURN_TIMEOUT_MS }) as string;
}
