import { createEngine } from "glovebox";
import { createServer } from "glovebox/server";

const engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
await using server = await createServer(engine, { port: 0 });
const response = await fetch(`${server.url}/v1/execute`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } }),
});
const { output } = (await response.json()) as { output: number };
console.log(response.status, output); // prints: 200 3
