import { randomUUID } from "node:crypto";
import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

const token = process.env["APP_TOKEN"] ?? randomUUID();
const port = Number(process.env["PORT"] ?? 3000);
const engine = await createEngine({ tools: ["./tools"] });
createApp(engine, token).listen(port, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${port}/tools, with the token ${token}`);
});
