/** A server of a fleet in a process of its own: its options are its argument. It begins calls that never end, and says a line when one of them runs. */
import { createFleetEngine } from "../fleet.ts";

const { url, fleet, calls, queue, scale } = JSON.parse(process.argv[2] ?? "{}");
const engine = await createFleetEngine(
  {
    executor: { kind: "queue", url, fleet },
    queue,
    limits: { wallMs: 200_000, queueMs: 200_000 },
    tools: [
      {
        name: "endless",
        description: "Says that it runs, and waits for longer than anybody.",
        source:
          "export default async () => { console.log('runs'); await new Promise((done) => setTimeout(done, 190_000)); };",
      },
    ],
  },
  scale,
);
let running = 0;
const onLog = (): void => void process.stdout.write(`${++running}\n`);
for (let call = 0; call < calls; call++) void engine.execute({ name: "endless", arguments: {} }, { onLog });
