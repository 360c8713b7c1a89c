import { createEngine } from "glovebox";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });

const greeting = await engine.execute({ name: "greet", arguments: { name: "Ada" } });
console.log(greeting.output);

const wrong = await engine.execute({ name: "greet", arguments: {} });
console.log(wrong.error?.code);

// An endless loop ends at its limit, and this process lives on.
const endless = await engine.execute({ name: "spin", arguments: {} });
console.log(endless.error?.code, endless.error?.message);
