import { createEngine } from "glovebox";

const policy = { rules: [{ tools: ["increment"], allow: { native: true } }] } as const;
await using engine = await createEngine({ workers: 1, policy });
const place = { runtime: "native", entry: "/bin/true" } as const; // a binary of your own
console.log((await engine.register({ name: "increment", description: "Adds one.", ...place })).capabilities); // prints: { native: true }
console.log(engine.explain("increment")?.grants[0]?.from); // prints: policy.rules[0]
