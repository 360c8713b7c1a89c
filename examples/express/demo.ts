import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createEngine } from "glovebox";
import { createClient } from "glovebox/client";
import { createApp } from "./app.ts";
import type greet from "./tools/greet.ts";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
const server = createApp(engine).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const headers = { "x-session": "session-of-ada" };

console.log("me", await (await fetch(`${url}/me`, { headers })).text());

const ada = createClient<[typeof greet]>({ url: `${url}/tools`, headers });
const greeted = await ada.tools.greet({ name: "Ada" });
if (greeted.success) console.log("greet", greeted.output.text);

const elsewhere = await ada.tools.greet({ name: "Ada" }, { tenant: "other" });
console.log("another tenant", elsewhere.error?.code);

const nobody = createClient<[typeof greet]>({ url: `${url}/tools` });
const refused = await nobody.tools.greet({ name: "Ada" });
console.log("no session", refused.error?.code);

server.close();
server.closeAllConnections();
