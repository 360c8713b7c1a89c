import { createEngine, sharedEngine } from "glovebox";
import { toFetchHandler } from "glovebox/handlers";

// The first request makes the engine: Next evaluates this module when it builds, too.
const engine = () => sharedEngine("tools", () => createEngine({ tools: ["./tools"] }));

const handler = toFetchHandler(engine, {
  basePath: "/tools",
  // Your own login decides who calls: here one user with the token in APP_TOKEN. `null` is answered with 401.
  authenticate: ({ headers }) => {
    const token = process.env["APP_TOKEN"];
    const isUser = token !== undefined && headers.get("authorization") === `Bearer ${token}`;
    return isUser ? { name: "user", tenant: "user", roles: ["execute"] } : null;
  },
});

export { handler as GET, handler as POST, handler as PUT, handler as DELETE };
