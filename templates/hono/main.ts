import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

const token = process.env["APP_TOKEN"] ?? randomUUID();
const app = createApp(await createEngine({ tools: ["./tools"] }), token);
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/tools, with the token ${token}`);
});
