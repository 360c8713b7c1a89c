import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1 });
console.log((await engine.metrics()).includes("glovebox_queue_depth 0")); // prints: true
console.log((await engine.metrics({ format: "openmetrics" })).endsWith("# EOF\n")); // prints: true
console.log(engine.stats().executor.sandbox !== undefined); // prints: true
