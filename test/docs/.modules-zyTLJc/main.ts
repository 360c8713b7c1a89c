import { createEngine } from "glovebox";
import { createClient, unwrap } from "glovebox/client";
import { createServer } from "glovebox/server";
import type { Tools } from "./tools.ts";

await using server = await createServer(await createEngine({ tools: ["./tools"], workers: 1 }), { port: 0 });

const client = createClient<Tools>({ url: server.url });

const result = await client.tools.greet({ name: "Ada" });
if (result.success)
  console.log(result.output.text); // prints: Hello, Ada!
else console.log(result.error.code);

const { text } = unwrap(await client.execute({ name: "greet", arguments: { name: "Bo" } }));
console.log(text); // prints: Hello, Bo!

for await (const update of client.stream({ name: "greet", arguments: { name: "Cy" } })) {
  if (update.type === "log") console.log(update.line.message); // prints: greeting Cy
  if (update.type === "result") console.log(update.result.success); // prints: true
}

const [one, two] = await client.batch([
  { name: "greet", arguments: { name: "Di" } },
  { name: "greet", arguments: { name: "Ed" } },
]);
console.log(unwrap(one).text, unwrap(two).text); // prints: Hello, Di! Hello, Ed!
