import { errnoOf } from "../../kernel/base/errno.ts";
import { boundedPieces } from "../../kernel/broker/capabilities/fetch/decoding.ts";
import { FetchFailure } from "../../kernel/broker/capabilities/fetch/failure.ts";
import { hashOf } from "../../kernel/tool/package/file.ts";
import { PackageError, quoted, shownUrl } from "../../kernel/tool/package/step.ts";
import { type IndexedWheel, readIndexPage } from "./index-page.ts";

/** The index of Python's own community. */
export const PUBLIC_INDEX = "https://pypi.org/simple/";

const PAGE_MS = 60_000;
const WHEEL_MS = 300_000;
const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Of all downloads of one index. */
const TOTAL_BYTES_MAX = 512 * 1024 * 1024;
const REDIRECTS_MAX = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

interface Answer {
  readonly status: number;
  readonly type: string;
  /** After redirects. */
  readonly url: URL;
  readonly bytes: Buffer;
}

/** A package index: pages of projects and their wheels, over HTTPS, or HTTP on this machine. */
export class PackageIndex {
  /** Without a name and a password. */
  readonly address: URL;
  readonly #authorization: string | undefined;
  readonly #maxBytes: number;
  #bytesLeft = TOTAL_BYTES_MAX;

  /** `maxBytes`: maximum size of a wheel. Throws a `TypeError` for an address of another form. */
  constructor(address: string, maxBytes: number) {
    const url = URL.parse(address);
    if (url === null || !isSecure(url)) {
      throw new TypeError("the address of a package index begins with https://, or with http:// on this machine");
    }
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    if (user !== "") this.#authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    this.address = Object.assign(new URL(url), { username: "", password: "", search: "", hash: "" });
    this.#maxBytes = maxBytes;
  }

  /** The wheels of a project, by its normalized name; none if the index has no such project. */
  async wheels(name: string): Promise<readonly IndexedWheel[]> {
    const page = new URL(`${this.address.pathname.replace(/\/*$/, "/")}${name}/`, this.address);
    const { status, type, url, bytes } = await this.#get(page, ACCEPT, PAGE_BYTES_MAX, PAGE_MS);
    if (status === 404) return [];
    if (status !== 200) throw new PackageError(`the index responded with status ${status} to ${shownUrl(page)}`);
    try {
      return readIndexPage(bytes.toString("utf8"), type, name, url);
    } catch (error) {
      if (!(error instanceof PackageError)) throw error;
      throw new PackageError(`the page ${shownUrl(page)} cannot be read: ${error.message}`);
    }
  }

  /** Downloads a file, which has the hash that is named. Rejects with a `PackageError`. */
  async download(file: string, url: URL, sha256: string | null): Promise<Buffer> {
    const { status, bytes } = await this.#get(url, "*/*", this.#maxBytes, WHEEL_MS);
    if (status !== 200) throw new PackageError(`${shownUrl(url)} responded with status ${status}`);
    if (sha256 !== null && (await hashOf(bytes)) !== sha256) {
      throw new PackageError(`${quoted(file)} has another SHA-256 than the index names for it: nothing is kept`);
    }
    return bytes;
  }

  async #get(target: URL, accept: string, maxBytes: number, ms: number): Promise<Answer> {
    const signal = AbortSignal.timeout(ms);
    let url = target;
    try {
      for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
        this.#requireSafe(url);
        const own = url.origin === this.address.origin && this.#authorization !== undefined;
        const headers = { accept, ...(own ? { authorization: this.#authorization ?? "" } : {}) };
        const response = await fetch(url, { headers, redirect: "manual", signal });
        const next = REDIRECTS.includes(response.status) ? response.headers.get("location") : null;
        if (next === null) {
          const type = response.headers.get("content-type") ?? "";
          return { status: response.status, type, url, bytes: await this.#read(response, url, maxBytes) };
        }
        await response.body?.cancel();
        url = URL.parse(next, url) ?? url;
      }
      throw new PackageError(`${shownUrl(target)} redirects more than ${REDIRECTS_MAX} times`);
    } catch (error) {
      if (error instanceof PackageError) throw error;
      if (error instanceof FetchFailure) throw new PackageError(`${shownUrl(url)} cannot be read: ${error.message}`);
      if (signal.aborted) throw new PackageError(`${shownUrl(url)} did not answer within ${ms} ms`);
      throw new PackageError(`${url.origin} cannot be reached (${codeOf(error)})`);
    }
  }

  /** Pages and redirects lead to HTTPS, or back to the index itself. */
  #requireSafe(url: URL): void {
    if (url.protocol === "https:" || url.origin === this.address.origin) return;
    throw new PackageError(`the index leads to ${shownUrl(url)}, which is neither https nor its own origin`);
  }

  async #read(response: Response, url: URL, maxBytes: number): Promise<Buffer> {
    if (response.body === null) return Buffer.alloc(0);
    const tooLarge = () => new PackageError(`${shownUrl(url)} is larger than ${maxBytes} bytes`);
    const pieces: Uint8Array[] = [];
    for await (const piece of boundedPieces(response.body, maxBytes, tooLarge)) {
      this.#bytesLeft -= piece.length;
      if (this.#bytesLeft < 0) throw new PackageError(`all downloads are more than ${TOTAL_BYTES_MAX} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return errnoOf(cause) ?? "no connection";
}
