import { createEngine } from "glovebox";
import { toFetchHandler } from "glovebox/handlers";
import { Hono } from "hono";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const glovebox = toFetchHandler(engine, { basePath: "/tools", allowAnybody: true });
const app = new Hono().all("/tools/*", ({ req }) => glovebox(req.raw));
const response = await app.request("/tools/v1/execute", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } }),
});
console.log(response.status, ((await response.json()) as { output: number }).output); // prints: 200 3
