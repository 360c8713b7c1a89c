import { randomUUID } from "node:crypto";
import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

const token = process.env["APP_TOKEN"] ?? randomUUID();
const app = await createApp(await createEngine({ tools: ["./tools"] }), token);
const url = await app.listen({ port: Number(process.env["PORT"] ?? 3000) });
console.log(`${url}/tools, with the token ${token}`);
// Closing ends the calls in progress first, then the listener, then the engine.
process.once("SIGTERM", () => void app.close());
process.once("SIGINT", () => void app.close());
