/**
 * Makes as many isolates as its argument says, each with a context and a tool that was called once, and prints the
 * growth of this process's resident memory in bytes. A process of its own, because memory is counted for processes.
 */
import { ADD_FUNCTION } from "../tools.ts";
import { openRawIsolate, openRawTool, wrap } from "./raw-isolates.ts";

const count = Number(process.argv[2]);
const kept: unknown[] = [];

function keepOne(): void {
  const isolate = openRawIsolate();
  const tool = openRawTool(isolate, isolate.compileScriptSync(wrap(ADD_FUNCTION)));
  tool.call(JSON.stringify({ a: 1, b: 2 }));
  kept.push(isolate, tool);
}

// What the first one brings along, such as the addon's code, belongs to none of them.
keepOne();
const before = process.memoryUsage.rss();
for (let made = 0; made < count; made++) keepOne();
console.log(process.memoryUsage.rss() - before);
