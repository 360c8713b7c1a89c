import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1, tools: ["math.mjs"] });
console.log((await engine.execute({ name: "multiply", arguments: { a: 6, b: 7 } })).output); // prints: 42
