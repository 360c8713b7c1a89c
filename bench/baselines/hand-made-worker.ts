/**
 * What one writes in an afternoon: piscina and isolated-vm, a fresh context for each call, JSON text both ways, and a
 * timeout. It releases everything it makes and compiles the script once, without which it would not survive a minute.
 */
import { queryObjects } from "node:v8";
import ivm from "isolated-vm";
import { ADD_FUNCTION, END } from "../tools.ts";

const MEMORY_MB = 64;
const TIMEOUT_MS = 1_000;

const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MB });
const script = isolate.compileScriptSync(
  `"use strict"; ((tool) => (json) => JSON.stringify(tool(JSON.parse(json))))(${ADD_FUNCTION})`,
);

export default function run(json: string): string {
  if (json === END) {
    isolate.dispose();
    queryObjects(Date, { format: "count" });
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
