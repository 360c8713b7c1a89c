import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendNotFound } from "../http/answers.ts";
import { namesEtag } from "../http/etag.ts";
import { type Surface, refuseOthers } from "../http/surface.ts";
import { type Asset, type Encoding, loadPage } from "./page-assets.ts";

const YEAR_SECONDS = 31_536_000;

/** Restrictive headers of the page: its own scripts, requests to its own server only, no framing. */
const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  vary: "accept-encoding",
};

/** Adds the console page. It contains no secrets: it requests its data through the API, like every client. */
export function addConsole(app: FastifyInstance, { engine, registry }: Surface): void {
  app.get("/", { config: { role: "anybody", api: "none" } }, async (request, reply) => {
    const page = await loadPage();
    const parts = {
      hasRegistry: registry !== undefined,
      hasCodeMode: engine.codeMode !== undefined,
      hasCalls: engine.calls.status() !== undefined,
    };
    return sendAsset(request, reply, await page.document(parts), "no-cache");
  });
  refuseOthers(app, "/", ["GET", "HEAD"]);

  app.get<{ Params: { file: string } }>(
    "/console/:file",
    { config: { role: "anybody", api: "none" } },
    async (request, reply) => {
      const asset = (await loadPage()).files.get(request.params.file);
      if (asset === undefined) return sendNotFound(reply);
      return sendAsset(request, reply, asset, `public, max-age=${YEAR_SECONDS}, immutable`);
    },
  );
  refuseOthers(app, "/console/:file", ["GET", "HEAD"]);
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset, caching: string): FastifyReply {
  const encoding = encodingFor(request.headers["accept-encoding"]);
  const etag = `"${asset.hash}-${encoding}"`;
  reply.headers({ ...HEADERS, etag, "cache-control": caching, "content-type": asset.type });
  if (namesEtag(request.headers["if-none-match"] ?? "", etag)) return reply.code(304).send();
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.send(asset.bodies[encoding]);
}

function encodingFor(accepted = ""): Encoding {
  const names = new Set(accepted.split(",").map((name) => name.trim()));
  return names.has("br") ? "br" : names.has("gzip") ? "gzip" : "identity";
}
