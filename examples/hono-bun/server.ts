/** Listens until it is stopped. It is a program of Node, as the engine is. */
import { serve } from "@hono/node-server";
import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
const port = Number(process.env["PORT"] ?? 3000);
const server = serve({ fetch: createApp(engine).fetch, hostname: "127.0.0.1", port }, (bound) => {
  console.log(`http://127.0.0.1:${bound.port}`);
});
await new Promise((stop) => process.once("SIGTERM", stop).once("SIGINT", stop));
server.close();
