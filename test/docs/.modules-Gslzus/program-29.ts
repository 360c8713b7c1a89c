import { once } from "node:events";
import { createServer } from "node:http";
import { createEngine, unwrap } from "glovebox";
import { codeMode } from "glovebox/code-mode";

const api = createServer((request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ name: `customer of ${request.url}`, key: request.headers["x-key"] }));
});
await once(api.listen(0, "127.0.0.1"), "listening");
const address = api.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;

await using engine = await createEngine({
  workers: 1,
  connectors: {
    crm: { openapi: { document: "crm.yaml", server: `${origin}/api` }, headers: { "x-key": "{secret:CRM}" } },
  },
  secrets: { CRM: { value: "a value that nobody sees", bind: [{ origin, in: "header:x-key" }] } },
  policy: { rules: [{ tools: ["crm.*"], allow: { connector: ["crm"] } }] },
});
console.log(engine.list().map(({ name }) => name));
// prints: [ 'crm.get_customer' ]

const call = await engine.execute({ name: "crm.get_customer", arguments: { id: 7 } });
console.log(unwrap(call));
// prints: { name: 'customer of /api/customers/7', key: 'glovebox.secret.CRM.' }

const code = "return (await tools.crm.get_customer({ id: 8 })).name;";
console.log(unwrap(await codeMode(engine).run(code)).result);
// prints: customer of /api/customers/8
api.close();
