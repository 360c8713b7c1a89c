import { createEngine } from "glovebox";

await using engine = await createEngine({ tools: ["./greet.ts"] });

const result = await engine.execute({ name: "greet", arguments: { name: "Ada" } });
console.log(result.success, result.output); // prints: true { text: 'Hello, Ada!' }

const wrong = await engine.execute({ name: "greet", arguments: { name: 42 } });
console.log(wrong.error?.code); // prints: invalid_arguments

// A tool that never ends costs its own call, and nothing else.
await engine.register({ name: "stuck", description: "Never ends.", source: "export default () => { for (;;); }" });
console.log((await engine.execute({ name: "stuck", arguments: {} })).error?.code); // prints: cpu_limit
