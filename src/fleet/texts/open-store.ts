import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { importOptional } from "../../kernel/base/optional-package.ts";
import { BucketStore, type BucketCredentials } from "./bucket.ts";
import { FolderStore } from "./folder.ts";
import type { TextStore } from "./text-store.ts";

export interface StoreOptions {
  /** Required for a bucket. */
  readonly credentials?: BucketCredentials | undefined;
  /** Longest wait for a folder, and for one request to a bucket, in milliseconds. Default 60,000. */
  readonly waitMs?: number | undefined;
  /** Delay before the first retry of a request to a bucket, in milliseconds. Default 200. */
  readonly retryMs?: number | undefined;
}

const WAIT_DEFAULT_MS = 60_000;
const RETRY_DEFAULT_MS = 200;
const REGION_DEFAULT = "us-east-1";
const BUCKET = /^\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/\w[\w.-]*)*$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/**
 * Rejects with a `GloveboxError`, `missing_package`, if the store is a bucket and the signing package is not installed.
 */
export async function requireSigner(store: string | undefined): Promise<void> {
  if (store?.startsWith("s3+") === true)
    await importOptional("executor.store", ["aws4fetch"], () => import("aws4fetch"));
}

/**
 * Opens the store for texts that are too large for Redis:
 *
 * - `/mnt/tools` or `file:///mnt/tools`: a folder that servers and machines share
 * - `s3+https://host[:port]/bucket[/prefix][?region=…]`: a bucket; `s3+http` for one inside a network
 *
 * Throws a `TypeError` that does not quote the value, because it may contain a password.
 */
export function openTextStore(store: string, options: StoreOptions = {}): TextStore {
  const { waitMs = WAIT_DEFAULT_MS, retryMs = RETRY_DEFAULT_MS, credentials } = options;
  if (isAbsolute(store)) return new FolderStore(store, waitMs);
  const url = URL.parse(store);
  switch (url?.protocol) {
    case "file:":
      return new FolderStore(folderOf(url), waitMs);
    case "s3+https:":
    case "s3+http:":
      if (credentials === undefined)
        throw wrong("names a bucket, which needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
      return new BucketStore({ ...placeOf(url), credentials, requestMs: waitMs, retryMs });
    default:
      throw wrong("is neither a folder's absolute path nor a file:, s3+https: or s3+http: URL");
  }
}

/** The credentials in an environment under AWS's names; `undefined` if it has none. */
export function readBucketCredentials(
  env: Readonly<Record<string, string | undefined>>,
): BucketCredentials | undefined {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) return undefined;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
  };
}

function folderOf(url: URL): string {
  if (url.search !== "" || url.hash !== "") throw wrong("names a folder and has a query or fragment after its path");
  try {
    return fileURLToPath(url);
  } catch {
    throw wrong("is a file: URL that names no local folder");
  }
}

function placeOf(url: URL): { readonly url: string; readonly region: string } {
  if (url.username !== "" || url.password !== "")
    throw wrong("contains credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead");
  const path = url.pathname.replace(/\/$/, "");
  if (url.host === "" || !BUCKET.test(path)) throw wrong("names no bucket: s3+https://host/bucket/prefix");
  const { region = REGION_DEFAULT, ...more } = Object.fromEntries(url.searchParams);
  if (!REGION.test(region) || Object.keys(more).length > 0 || url.hash !== "")
    throw wrong("has a query or fragment other than ?region=");
  const address = `${url.protocol.slice("s3+".length)}//${url.host}${path}`;
  if (!URL.canParse(address)) throw wrong("has an invalid host");
  return { url: address, region };
}

function wrong(why: string): TypeError {
  return new TypeError(`executor.store ${why}`);
}
