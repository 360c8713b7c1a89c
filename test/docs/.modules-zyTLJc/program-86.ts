import { createEngine } from "glovebox";
import { toolsForAISDK } from "glovebox/adapters";
import { createClient } from "glovebox/client";
import { createServer } from "glovebox/server";
import type { Tools } from "./tools.ts";

await using server = await createServer(await createEngine({ tools: ["./tools"], workers: 1 }), { port: 0 });
const client = createClient<Tools>({ url: server.url });
const { greet } = toolsForAISDK(await client.runner());
console.log(greet.description); // prints: Greets somebody.
