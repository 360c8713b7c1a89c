import { fastify } from "fastify";
import { createEngine } from "glovebox";
import { gloveboxFastify } from "glovebox/fastify";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const app = fastify();
await app.register(gloveboxFastify, { engine, prefix: "/tools", allowAnybody: true });
const { statusCode, body } = await app.inject({
  method: "POST",
  url: "/tools/v1/execute",
  payload: { name: "add", arguments: { a: 1, b: 2 } },
});
console.log(statusCode, (JSON.parse(body) as { output: number }).output); // prints: 200 3
await app.close();
