/** A server of a fleet: each line that it is given is a call with a key, and it says in a line that one waits, and in another one how it ended. */
import { createInterface } from "node:readline";
import { createFleetEngine } from "../fleet.ts";
import { type KeyedAsk, keyedOptions, type KeyedSaying, type KeyedSettings } from "../keyed-server.ts";

const settings = JSON.parse(process.argv[2] ?? "{}") as KeyedSettings;
const engine = await createFleetEngine(keyedOptions(settings), settings.scale);
process.stdout.write("ready\n");
createInterface(process.stdin).on("line", (line) => {
  const { tool, key, ms = 0 } = JSON.parse(line) as KeyedAsk;
  const say = (said: KeyedSaying) => process.stdout.write(`${JSON.stringify(said)}\n`);
  const onLog = () => say({ kind: "began", key });
  const asked = engine.execute({ name: tool, arguments: { key, ms } }, { idempotencyKey: key, onLog });
  void asked.then((result) => say({ kind: "ended", key, result }));
});
