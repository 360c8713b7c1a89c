import { createEngine, replayCall } from "glovebox";

await using engine = await createEngine({ workers: 1, tools: ["greet.ts"] });
const { metadata } = await engine.execute({ name: "greet", arguments: { name: "Ada" } }, { record: true });
const replayed = await replayCall(metadata["recording"] as Parameters<typeof replayCall>[0]);
console.log(replayed.result.success); // prints: true
