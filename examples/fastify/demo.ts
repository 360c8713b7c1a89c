import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

await using app = createApp(await createEngine({ tools: ["./tools"], workers: 1 }));

console.log((await app.inject("/tools")).body);

for (const payload of [{ name: "Ada" }, { name: "" }]) {
  const response = await app.inject({ method: "POST", url: "/tools/greet", payload });
  const { text, error } = response.json<{ text?: string; error?: { code: string } }>();
  console.log(response.statusCode, text ?? error?.code);
}

const unknown = await app.inject({ method: "POST", url: "/tools/nobody", payload: {} });
console.log(unknown.statusCode);
