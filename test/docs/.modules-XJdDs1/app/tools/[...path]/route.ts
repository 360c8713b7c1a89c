import { createEngine, sharedEngine } from "glovebox";
import { toFetchHandler } from "glovebox/handlers";

const tools = [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }];
const engine = () => sharedEngine("tools", () => createEngine({ workers: 1, tools }));
const handler = toFetchHandler(engine, { basePath: "/tools", allowAnybody: true });
export { handler as GET, handler as POST, handler as PUT, handler as DELETE };
const body = JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } });
const headers = { "content-type": "application/json" };
const response = await handler(new Request("http://localhost/tools/v1/execute", { method: "POST", headers, body }));
console.log(response.status); // prints: 200
await (await engine()).close();
