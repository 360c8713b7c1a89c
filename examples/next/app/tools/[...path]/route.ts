import { createEngine, sharedEngine } from "glovebox";
import { toFetchHandler } from "glovebox/handlers";

// The first request makes the engine: Next evaluates this module when it builds, too.
const engine = () => sharedEngine("tools", () => createEngine({ tools: ["./tools"] }));

const handler = toFetchHandler(engine, {
  basePath: "/tools",
  // A user of the application is a tenant. A real application looks up the cookie of its session.
  authenticate: ({ headers }) => {
    const user = headers.get("x-user");
    return user === null ? null : { name: user, tenant: user, roles: ["execute"] };
  },
});

export { handler as GET, handler as POST, handler as PUT, handler as DELETE };
