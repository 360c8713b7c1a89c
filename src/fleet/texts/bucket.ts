import { errnoOf } from "../../kernel/base/errno.ts";
import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { collect, fileNameOf, type TextStore, TextFailure } from "./text-store.ts";

/** Credentials for signing requests to a bucket. They are only used in signatures. */
export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface BucketOptions {
  /** `https://host/bucket/prefix`, without a trailing slash. */
  readonly url: string;
  readonly region: string;
  readonly credentials: BucketCredentials;
  /** Longest time of one request including its response, in milliseconds. */
  readonly requestMs: number;
  /** Delay before the first retry, in milliseconds; doubled for each further one. */
  readonly retryMs: number;
}

const RETRIES = 3;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const TOO_MANY = 429;

type Method = "GET" | "HEAD" | "PUT";
type Attempt<Answer> = { readonly ok: true; readonly answer: Answer } | { readonly ok: false; readonly why: string };

/** Texts as objects of an S3-compatible bucket. The bucket's lifecycle rule decides their lifetime. */
export class BucketStore implements TextStore {
  readonly #options: BucketOptions;

  constructor(options: BucketOptions) {
    this.#options = options;
  }

  keep(key: string): Promise<boolean> {
    return this.#ask("HEAD", key, null, async ({ ok, status }) => {
      // Without permission to list the bucket, S3 reports a missing object as forbidden: the PUT shows whether writing
      // works.
      if (status === NOT_FOUND || status === FORBIDDEN) return false;
      if (ok) return true;
      throw refused(status);
    });
  }

  put(key: string, stored: string): Promise<void> {
    return this.#ask("PUT", key, stored, async ({ ok, status }) => {
      if (!ok) throw refused(status);
    });
  }

  get(key: string, bytesMax: number): Promise<string | null> {
    return this.#ask("GET", key, null, async ({ ok, status, body }) => {
      if (status === NOT_FOUND) return null;
      if (!ok) throw refused(status);
      return body === null ? "" : collect(body, bytesMax);
    });
  }

  async #ask<Answer>(
    method: Method,
    key: string,
    stored: string | null,
    read: (response: Response) => Promise<Answer>,
  ): Promise<Answer> {
    let why = "";
    for (let retry = 0; retry <= RETRIES; retry += 1) {
      if (retry > 0) await delay(this.#options.retryMs * 2 ** (retry - 1) * (0.5 + Math.random() / 2));
      const attempt = await this.#attempt(method, key, stored, read);
      if (attempt.ok) return attempt.answer;
      why = attempt.why;
    }
    throw new TextFailure("unreachable", `the bucket of executor.store ${why}, after ${RETRIES} retries`);
  }

  async #attempt<Answer>(
    method: Method,
    key: string,
    stored: string | null,
    read: (response: Response) => Promise<Answer>,
  ): Promise<Attempt<Answer>> {
    let body: ReadableStream | null = null;
    try {
      const { url, headers } = await this.#sign(method, key, stored ?? "");
      const response = await fetch(url, {
        method,
        headers,
        body: stored,
        // A signature is for one host; a redirect could lead to another.
        redirect: "manual",
        signal: AbortSignal.timeout(this.#options.requestMs),
      });
      body = response.body;
      if (isPassing(response.status)) return { ok: false, why: `answers with ${response.status}` };
      return { ok: true, answer: await read(response) };
    } catch (error) {
      if (error instanceof TextFailure) throw error;
      return { ok: false, why: wordsOf(error) };
    } finally {
      // An unread body would hold its connection. A body that was read or broke off has nothing to cancel.
      await body?.cancel().catch(() => undefined);
    }
  }

  async #sign(method: Method, key: string, stored: string): Promise<{ readonly url: URL; readonly headers: Headers }> {
    const { AwsV4Signer } = await import("aws4fetch");
    const { url, region, credentials } = this.#options;
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const signer = new AwsV4Signer({
      method,
      url: `${url}/${fileNameOf(key)}`,
      headers: { "X-Amz-Content-Sha256": hash("sha256", stored) },
      service: "s3",
      region,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    });
    return signer.sign();
  }
}

function isPassing(status: number): boolean {
  return status >= 500 || status === TOO_MANY;
}

function refused(status: number): TextFailure {
  return new TextFailure("unreachable", `the bucket of executor.store refuses with ${status}`);
}

/** A short description of a failed `fetch`: only the cause's code, because the message contains addresses. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return "cannot be reached";
  if (error.name === "TimeoutError") return "does not answer in time";
  const { cause } = error;
  const code = errnoOf(cause);
  return code !== undefined && /^\w{1,64}$/.test(code) ? `cannot be reached (${code})` : "cannot be reached";
}
