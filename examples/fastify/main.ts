import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

const app = await createApp(await createEngine({ tools: ["./tools"] }));
console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
// Closing ends the calls in progress first, then the listener, then the engine.
process.once("SIGTERM", () => void app.close());
process.once("SIGINT", () => void app.close());
