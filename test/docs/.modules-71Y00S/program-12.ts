import { once } from "node:events";
import { createServer } from "node:http";
import { createEngine, unwrap } from "glovebox";

// An authorization server and an API on this machine, as an example.
const server = createServer((request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const token = { access_token: "an-access-token-of-an-hour", token_type: "Bearer", expires_in: 3600 };
  response.end(JSON.stringify(request.url === "/token" ? token : { got: request.headers.authorization }));
});
await once(server.listen(0, "127.0.0.1"), "listening");
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
const document = {
  openapi: "3.1.0",
  info: { title: "CRM", version: "1" },
  paths: { "/customers": { get: { operationId: "list", responses: { 200: { description: "All." } } } } },
};
const { writeFile } = await import("node:fs/promises");
await writeFile("crm.json", JSON.stringify(document));

await using engine = await createEngine({
  workers: 1,
  connectors: {
    crm: {
      openapi: { document: "crm.json", server: origin },
      auth: { clientCredentials: { tokenUrl: `${origin}/token`, clientId: "glovebox", clientSecret: "{secret:CRM}" } },
    },
  },
  secrets: { CRM: { value: "a secret of the client", bind: [{ origin, in: "basic:password" }] } },
  policy: { rules: [{ tools: ["crm.*"], allow: { connector: ["crm"] } }] },
});
const call = await engine.execute({ name: "crm.list", arguments: {} });
console.log(unwrap(call));
// prints: { got: 'Bearer glovebox.secret.login_crm.' }
server.close();
