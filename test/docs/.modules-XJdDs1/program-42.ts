import express from "express";
import { createEngine } from "glovebox";
import { toNodeHandler } from "glovebox/handlers";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const glovebox = toNodeHandler(engine, {
  authenticate: (request: express.Request) => {
    const user = request.get("x-user");
    return user === undefined ? null : { name: user, tenant: "acme", roles: ["execute"] };
  },
});
const server = express()
  .use("/tools", glovebox)
  .listen(0, "127.0.0.1", async () => {
    const bound = server.address();
    const port = typeof bound === "object" ? bound?.port : 0;
    const response = await fetch(`http://127.0.0.1:${port}/tools/v1/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-user": "ada" },
      body: JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } }),
    });
    const { output } = (await response.json()) as { output: number };
    console.log(response.status, output); // prints: 200 3
    server.close();
  });
await new Promise((closed) => server.once("close", closed));
