import { createEngine } from "glovebox";

await using engine = await createEngine({
  workers: 1,
  tools: [{ path: "./echo.js", limits: { wallMs: 500 }, tags: ["text"] }],
});
console.log(engine.get("echo")?.limits.wallMs, engine.get("echo")?.tags); // prints: 500 [ 'text' ]
