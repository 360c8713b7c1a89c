import { createEngine } from "glovebox";
import { createApp } from "./app.ts";

await using app = await createApp(await createEngine({ tools: ["./tools"], workers: 1 }));
const headers = { "x-user": "ada" };

console.log((await app.inject({ url: "/me", headers })).body);

const tools = (await app.inject({ url: "/tools/v1/tools", headers })).json<{ name: string }[]>();
console.log(tools.map(({ name }) => name));

for (const [by, name] of [
  [headers, "Ada"],
  [headers, ""],
  [{}, "Ada"],
] as const) {
  const payload = { name: "greet", arguments: { name } };
  const response = await app.inject({ method: "POST", url: "/tools/v1/execute", headers: by, payload });
  const { output, error } = response.json<{ output: { text: string } | null; error: { code: string } | null }>();
  console.log(response.statusCode, output?.text ?? error?.code);
}
