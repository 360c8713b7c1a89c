import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

let server: Server;
beforeAll(async () => {
  server = await createServer(await createEngine({ workers: 1, executor: "threads" }), { port: 0, drainMs: 100 });
});
afterAll(() => server.close());

test("each file of the console is sent once, and then known by its ETag in each encoding", async () => {
  const document = await (await fetch(server.url)).text();
  const files = [...document.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(files.length).toBeGreaterThan(0);
  for (const path of ["/", ...files]) {
    const etags = new Set<string>();
    for (const encoding of ["br", "gzip", "identity"]) {
      const accepted = { "accept-encoding": encoding };
      const first = await fetch(server.url + path, { headers: accepted });
      const etag = first.headers.get("etag") ?? "";
      expect((await first.arrayBuffer()).byteLength).toBeGreaterThan(0);
      etags.add(etag);
      // A proxy that compresses makes an ETag a weak one.
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
        const again = await fetch(server.url + path, { headers: { ...accepted, "if-none-match": known } });
        expect([again.status, again.headers.get("etag"), (await again.arrayBuffer()).byteLength]).toEqual([
          304,
          etag,
          0,
        ]);
      }
      const changed = await fetch(server.url + path, { headers: { ...accepted, "if-none-match": '"other"' } });
      expect([changed.status, (await changed.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
    }
    expect(etags.size).toBe(3);
  }
});
