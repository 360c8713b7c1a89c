/** A worker of BullMQ that does nothing but add two numbers, for `bare-queue.ts`, until its parent has gone. */
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import type { addArguments } from "../tools.ts";
import type { Told } from "./bare-queue.ts";

type Arguments = ReturnType<typeof addArguments>;

const [url = "", name = "", concurrency = "1", isTelling = ""] = process.argv.slice(2);
const connection = new Redis(url, { maxRetriesPerRequest: null });
const worker = new Worker<Arguments, number>(name, ({ data: { a, b } }) => Promise.resolve(a + b), {
  connection,
  concurrency: Number(concurrency),
});

let told: [id: string, sum: number][] = [];
/** What one turn of the event loop has completed goes together. */
function tell(id: string, sum: number): void {
  if (told.push([id, sum]) > 1) return;
  setImmediate(() => {
    const all: Told = told;
    told = [];
    process.send?.(all);
  });
}

if (isTelling === "true") worker.on("completed", ({ id = "" }, sum) => tell(id, sum));
await worker.waitUntilReady();
process.once("disconnect", () => process.exit());
process.send?.("ready");
