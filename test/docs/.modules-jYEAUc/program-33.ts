import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1, tools: ["echo.js"] });
console.log((await engine.execute({ name: "echo", arguments: { message: "Hello" } })).output); // prints: Hello
console.log((await engine.execute({ name: "echo", arguments: { message: "" } })).error?.message); // prints: No message provided
