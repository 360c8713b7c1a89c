/** A server of a fleet: each line that it is given is a call with a key, and it answers a line for each. */
import { createInterface } from "node:readline";
import { createEngine } from "../../../src/index.ts";
import { type KeyedAsk, keyedOptions, type KeyedSettings } from "../keyed-server.ts";

const engine = await createEngine(keyedOptions(JSON.parse(process.argv[2] ?? "{}") as KeyedSettings));
process.stdout.write("ready\n");
createInterface(process.stdin).on("line", (line) => {
  const { tool, key, ms = 0 } = JSON.parse(line) as KeyedAsk;
  const asked = engine.execute({ name: tool, arguments: { key, ms } }, { idempotencyKey: key });
  void asked.then((result) => process.stdout.write(`${JSON.stringify({ key, result })}\n`));
});
