import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ASSET_REFUSALS, AssetError } from "../../contrib/agentspace/asset-error.ts";
import { readAssetMetadata } from "../../contrib/agentspace/asset-metadata.ts";
import type { Asset, AssetStore } from "../../contrib/agentspace/assets.ts";
import { problemAnswer, sendAnswer, sendJson, sendNotFound } from "./answers.ts";
import { namesEtag } from "./etag.ts";
import { answerErrors } from "./failure.ts";
import { problem } from "./problem.ts";
import { GET_ASSET, UPLOAD_ASSET } from "./api/asset-routes.ts";

const METADATA_MAX_BYTES = 64 * 1024;
/** Maximum number of form parts: the file, its metadata, and unknown fields. */
const PARTS_MAX = 8;
/** Maximum size of a form without its file: boundaries, headers and fields. */
const AROUND_MAX_BYTES = PARTS_MAX * (METADATA_MAX_BYTES + 16 * 1024);
const YEAR_SECONDS = 31_536_000;

/** Adds the routes of AgentSpace's assets. `publicUrl`: base of asset URLs; default: the host of the request. */
export async function addAssets(app: FastifyInstance, store: AssetStore, publicUrl: URL | null): Promise<void> {
  // Load it only here: few servers store assets.
  const { default: multipart } = await import("@fastify/multipart");
  await app.register(async (scope) => {
    const limits = {
      fileSize: store.maxBytes + 1,
      files: 1,
      parts: PARTS_MAX,
      fieldSize: METADATA_MAX_BYTES,
      headerPairs: 32,
    };
    await scope.register(multipart, { limits, throwFileSizeLimit: false });
    answerErrors(scope, sendFailure);
    addUpload(scope, store, publicUrl);
    addDownload(scope, store);
  });
}

function addUpload(app: FastifyInstance, store: AssetStore, publicUrl: URL | null): void {
  app.post("/upload_asset", {
    config: { role: "admin", api: UPLOAD_ASSET },
    // Before the body is read.
    onRequest: async (request) => checkLength(request, store.maxBytes),
    handler: async (request, reply) => {
      if (!request.isMultipart()) throw new AssetError("not_multipart", "an upload is multipart/form-data");
      const { asset, isNew, metadata } = await take(request, store);
      const url = `${publicUrl?.href.replace(/\/$/, "") ?? `http://${request.host}`}${pathOf(asset)}`;
      return sendJson(reply, isNew ? 201 : 200, {
        url,
        asset_name: asset.name,
        asset_version: metadata.asset_version,
        bytes: asset.bytes,
        sha256: asset.sha256,
      });
    },
  });
}

/** Reads a form to its end, its parts in any order, and stores the asset. */
async function take(request: FastifyRequest, store: AssetStore) {
  await using received = new AsyncDisposableStack();
  let upload: Awaited<ReturnType<AssetStore["receive"]>> | undefined;
  let text: string | undefined;
  for await (const part of request.parts()) {
    if (part.type === "file") {
      if (part.fieldname !== "asset") throw new AssetError("missing_asset", 'the file\'s field is named "asset"');
      upload = received.use(await store.receive(part.file as Readable, part.filename));
    } else if (part.fieldname === "asset_metadata") {
      if (part.valueTruncated)
        throw new AssetError("too_large", `asset_metadata has at most ${METADATA_MAX_BYTES} bytes`);
      text = typeof part.value === "string" ? part.value : JSON.stringify(part.value);
    }
  }
  if (upload === undefined) throw new AssetError("missing_asset", 'there is no file in the field "asset"');
  if (text === undefined) throw new AssetError("missing_metadata", 'there is no field "asset_metadata"');
  const metadata = readAssetMetadata(text);
  return { ...store.keep(upload, metadata), metadata };
}

function addDownload(app: FastifyInstance, store: AssetStore): void {
  app.get<{ Params: { name: string; version: string; file: string } }>(
    "/assets/:name/:version/:file",
    { config: { role: "anybody", api: GET_ASSET } },
    async ({ params, headers }, reply) => {
      const asset = store.find(params.name, params.version);
      if (asset === undefined || asset.file !== params.file) return sendNotFound(reply);
      const etag = `"${asset.sha256}"`;
      const digest = Buffer.from(asset.sha256, "hex").toString("base64");
      reply.headers({
        etag,
        digest: `sha-256=${digest}`,
        "repr-digest": `sha-256=:${digest}:`,
        // A version is immutable; a tag can move.
        "cache-control": asset.version === params.version ? `max-age=${YEAR_SECONDS}, immutable` : "no-cache",
        "x-content-type-options": "nosniff",
        "content-disposition": `attachment; filename="${asset.file}"`,
      });
      if (namesEtag(headers["if-none-match"] ?? "", etag)) return reply.code(304).send();
      reply.headers({ "content-type": asset.type, "content-length": asset.bytes });
      return reply.send(await store.open(asset));
    },
  );
}

/** Path of an asset. Names contain only characters that need no escaping in URLs. */
function pathOf({ name, version, file }: Asset): string {
  return `/assets/${name}/${version}/${file}`;
}

function checkLength({ headers }: FastifyRequest, maxBytes: number): void {
  const length = Number(headers["content-length"] ?? 0);
  if (length <= maxBytes + AROUND_MAX_BYTES) return;
  throw new AssetError("too_large", `an asset has at most ${maxBytes} bytes`);
}

/** Responds with the problem of an upload; internal errors get no details. */
function sendFailure(reply: FastifyReply, error: unknown): FastifyReply {
  // The rest of the body is not read, so the connection cannot be reused.
  reply.header("connection", "close");
  const refusal = error instanceof AssetError ? error : describe(error);
  if (refusal === null)
    return sendProblem(reply, 500, { code: "failed", message: "the request could not be answered" });
  const { code, message, pointer } = refusal;
  if (code === "too_many") reply.header("retry-after", 1);
  return sendProblem(reply, ASSET_REFUSALS[code], { code, message, ...(pointer === undefined ? {} : { pointer }) });
}

function sendProblem(reply: FastifyReply, status: number, error: { code: string; message: string }): FastifyReply {
  return sendAnswer(reply, problemAnswer(problem(status, error.message, error)));
}

/**
 * Converts a client error of the form parser; `null` for internal errors. Not all of its client errors have a status
 * below 500, so messages are matched too.
 */
function describe(error: unknown): AssetError | null {
  const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown };
  if (code === "FST_FILES_LIMIT" || code === "FST_PARTS_LIMIT" || code === "FST_FIELDS_LIMIT") {
    return new AssetError("bad_upload", `an upload has one file, and at most ${PARTS_MAX} parts`);
  }
  const isParser = typeof message === "string" && /multipart|boundary|part header|terminated early/i.test(message);
  const isClient = typeof statusCode === "number" && statusCode >= 400 && statusCode < 500;
  return isParser || isClient ? new AssetError("bad_upload", "the form could not be read to its end") : null;
}
