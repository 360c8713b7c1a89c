import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1, tools: ["greet.ts"] });
const findings = engine.lint();
console.log(findings.length > 0); // prints: true
