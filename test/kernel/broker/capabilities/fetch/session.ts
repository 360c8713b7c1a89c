import type { CapabilityRequest, OpenCapability } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import type { FetchOptions } from "../../../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { createFetch } from "../../../../../src/kernel/broker/capabilities/fetch/fetch.ts";
import type { SecretViolation } from "../../../../../src/kernel/broker/capabilities/secrets/placeholders.ts";
import { fetchGrants } from "../../../../../src/kernel/broker/capabilities/fetch/grants.ts";
import type { BodyData } from "../../../../../src/kernel/broker/capabilities/fetch/response-body.ts";
import type { OpenedSocket, Received } from "../../../../../src/kernel/broker/capabilities/fetch/web-socket.ts";
import { type SecretOptions, Secrets } from "../../../../../src/kernel/broker/capabilities/secrets/secrets.ts";

type FetchRules = Partial<NonNullable<CapabilityRequest["fetch"]>>;

/** What a call may do, and what it does it with. */
export interface World extends FetchOptions {
  /** Rules of the policy; the call is granted each of them. */
  readonly rules: readonly FetchRules[];
  /** What the tool asks for; all of the rules where that is not said. */
  readonly asks?: FetchRules;
  readonly secrets?: { readonly [name: string]: SecretOptions };
  readonly grantedSecrets?: readonly string[];
  readonly onViolation?: (violation: SecretViolation) => void;
  readonly tenant?: string;
}

export interface Answer {
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly redirected: boolean;
  readonly opaque: boolean;
  readonly body: { readonly part: BodyData | null; readonly more: boolean } | null;
}

interface Init {
  readonly id?: number;
  readonly method?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: BodyData | null;
  readonly redirect?: "follow" | "error" | "manual";
}

/** A call's `fetch`, without an engine around it. */
export class Session implements AsyncDisposable {
  readonly #capability: ReturnType<typeof createFetch>;
  readonly #open: OpenCapability;
  readonly #abort = new AbortController();
  #lastId = 0;

  constructor({ rules, asks, secrets = {}, grantedSecrets = [], onViolation, tenant = "", ...options }: World) {
    this.#capability = createFetch(new Secrets(secrets, {}), options, onViolation);
    const allowed = rules.map((rule) => fetchGrants.read({ origins: [], ...rule }, "policy"));
    const asked = asks === undefined ? null : fetchGrants.read(asks, "request");
    const grants = asked === null ? allowed : allowed.flatMap((each) => fetchGrants.meet(asked, each) ?? []);
    const call = {
      callId: "c",
      tool: "t",
      tenant,
      signal: this.#abort.signal,
      callTool: () => Promise.reject(new Error("there are no other tools")),
      grantsOf: (name: string) => (name === "secrets" && grantedSecrets.length > 0 ? [grantedSecrets] : []),
    };
    this.#open = this.#capability.open(call, grants);
  }

  async request(url: string, init: Init = {}): Promise<Answer> {
    const id = init.id ?? ++this.#lastId;
    const request = { method: "GET", headers: [], body: null, redirect: "follow", ...init, id, url };
    return (await this.#open.invoke("request", request, 1)) as Answer;
  }

  async read(id: number): Promise<NonNullable<Answer["body"]>> {
    return (await this.#open.invoke("read", { id }, 1)) as NonNullable<Answer["body"]>;
  }

  async cancel(id: number): Promise<unknown> {
    return await this.#open.invoke("cancel", { id }, 1);
  }

  /** Opens a WebSocket, and gives its number. */
  async connect(url: string, protocols: readonly string[] = []): Promise<{ readonly id: number } & OpenedSocket> {
    const id = ++this.#lastId;
    return { id, ...((await this.#open.invoke("connect", { id, url, protocols }, 1)) as OpenedSocket) };
  }

  async send(id: number, data: BodyData): Promise<unknown> {
    return await this.#open.invoke("send", { id, data }, 1);
  }

  async receive(id: number): Promise<Received> {
    return (await this.#open.invoke("receive", { id }, 1)) as Received;
  }

  /** All that a WebSocket gives, until its end. */
  async received(id: number): Promise<readonly Received[]> {
    const all: Received[] = [];
    for (let next = await this.receive(id); ; next = await this.receive(id)) {
      all.push(next);
      if ("closed" in next) return all;
    }
  }

  closeSocket(id: number, code?: number, reason = ""): void {
    this.#open.invoke("close", { id, ...(code === undefined ? {} : { code }), reason }, 1);
  }

  /** The answer to a request, and its whole body. */
  async whole(url: string, init: Init = {}): Promise<Answer & { readonly bytes: Buffer; readonly text: string }> {
    const id = init.id ?? ++this.#lastId;
    const answer = await this.request(url, { ...init, id });
    const pieces = answer.body === null ? [] : [answer.body];
    while (pieces.at(-1)?.more === true) pieces.push(await this.read(id));
    const bytes = Buffer.concat(pieces.map(({ part }) => (part === null ? Buffer.alloc(0) : bytesOf(part))));
    return { ...answer, bytes, text: bytes.toString() };
  }

  /** As the broker does when the call ends. */
  end(): void {
    this.#abort.abort(new DOMException("the call has ended", "AbortError"));
    void this.#open.close?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
    await this.#capability.close?.();
  }
}

export function bytesOf(part: BodyData): Buffer {
  return "text" in part ? Buffer.from(part.text) : Buffer.from(part.base64, "base64");
}
