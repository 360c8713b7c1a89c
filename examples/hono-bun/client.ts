/** Calls a tool of the server whose address it is given. It runs in Bun, in Node, and wherever else there is `fetch`. */
import { createClient } from "glovebox/client";
import type greet from "./tools/greet.ts";

const runtime = "Bun" in globalThis ? "Bun" : "Node";
const url = process.argv[2] ?? "http://127.0.0.1:3000";

const ada = createClient<[typeof greet]>({ url: `${url}/tools`, key: "token-of-ada" });
for await (const update of ada.stream({ name: "greet", arguments: { name: "Ada" } })) {
  if (update.type === "log") console.log(`${runtime}: the tool says "${update.line.message}"`);
  if (update.type === "result" && update.result.success) console.log(`${runtime}: ${update.result.output.text}`);
}

const nobody = createClient<[typeof greet]>({ url: `${url}/tools` });
console.log(`${runtime}: without a token ${(await nobody.tools.greet({ name: "Ada" })).error?.code}`);
