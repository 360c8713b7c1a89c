import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { BucketCredentials } from "../../src/fleet/texts/bucket.ts";

/** A bucket by HTTP, which believes nobody whose signature it has not computed itself. */
export interface BucketServer extends AsyncDisposable {
  /** `s3+http://…/tools/code?region=…` */
  readonly url: string;
  readonly objects: Map<string, Buffer>;
  /** The methods of the requests so far. */
  readonly asked: string[];
  /** What answers in the stead of the bucket, request by request, while there is something. */
  readonly instead: ((response: ServerResponse) => void)[];
}

const REGION = "eu-test-1";
const SIGNATURE =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;
const SIGNED = ["host", "x-amz-content-sha256", "x-amz-date"];

export async function startBucket(credentials: BucketCredentials): Promise<BucketServer> {
  const objects = new Map<string, Buffer>();
  const asked: string[] = [];
  const instead: BucketServer["instead"] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "" } = request;
    asked.push(method);
    const body = await buffer(request);
    const other = instead.shift();
    if (other !== undefined) return other(response);
    if (!isSigned(request, body, credentials)) return void response.writeHead(403).end();
    if (method === "PUT") objects.set(url, body);
    const object = objects.get(url);
    response.writeHead(object === undefined ? 404 : 200).end(method === "GET" ? object : undefined);
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `s3+http://127.0.0.1:${port}/tools/code?region=${REGION}`,
    objects,
    asked,
    instead,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** AWS's Signature Version 4, as its documentation has it, for paths and queries that need no encoding. */
function isSigned({ method, url = "", headers }: IncomingMessage, body: Buffer, wanted: BucketCredentials): boolean {
  const [, id, date = "", region = "", names = "", signature] = SIGNATURE.exec(headers.authorization ?? "") ?? [];
  const time = String(headers["x-amz-date"]);
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const must = wanted.sessionToken === undefined ? SIGNED : [...SIGNED, "x-amz-security-token"];
  if (id !== wanted.accessKeyId || region !== REGION || !time.startsWith(date)) return false;
  if (headers["x-amz-content-sha256"] !== bodyHash || headers["x-amz-security-token"] !== wanted.sessionToken)
    return false;
  if (!must.every((name) => names.split(";").includes(name))) return false;
  const canonicalHeaders = names.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, url, "", canonicalHeaders.join(""), names, bodyHash].join("\n");
  const scope = `${date}/${region}/s3/aws4_request`;
  const digest = createHash("sha256").update(canonical).digest("hex");
  const key = [date, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${wanted.secretAccessKey}`,
  );
  const expected = createHmac("sha256", key).update(["AWS4-HMAC-SHA256", time, scope, digest].join("\n")).digest("hex");
  return signature === expected;
}
