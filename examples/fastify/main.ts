import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

const app = createApp(await createEngine({ tools: ["./tools"] }));
console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
process.once("SIGTERM", () => void app.close());
process.once("SIGINT", () => void app.close());
