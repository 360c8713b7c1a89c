/** A server with tools for those who abuse it. Says its address, and ends when its input does. */
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer } from "../../../src/server/http/server.ts";

const number = { type: "number" };
const engine = await createEngine({
  executor: { kind: "process", spare: false },
  workers: 1,
  queue: { concurrency: 4_096 },
  tools: [
    {
      name: "add",
      description: "Adds two numbers.",
      inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
      source: "export default ({ a, b }) => ({ sum: a + b });",
    },
    {
      name: "large",
      description: "Answers with much.",
      source: "export default ({ units }) => 'x'.repeat(units);",
    },
    {
      name: "ticks",
      description: "Logs a line again and again, for so long.",
      source: `export default ({ ms }) => new Promise((resolve) => {
        const timer = setInterval(() => console.log("tick"), 500);
        setTimeout(() => { clearInterval(timer); resolve("done"); }, ms);
      });`,
      limits: { wallMs: 590_000, cpuMs: 10_000 },
    },
  ],
});
// Connections that a crowd keeps are there until its last one is, on a busy machine, too.
const connections = { keepAliveMs: 600_000 };
const server = await createServer(engine, { port: 0, drainMs: 0, connections });
process.stdout.write(`${server.url}\n`);
process.stdin.once("end", () => void server.close().then(() => process.exit())).resume();
