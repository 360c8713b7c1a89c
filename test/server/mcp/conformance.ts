import { Ajv2020 } from "ajv/dist/2020.js";
import { fastify } from "fastify";
import type { Registry } from "../../../src/contrib/agentspace/index.ts";
import type { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { addRoutes } from "../../../src/server/http/routes.ts";

interface Answer {
  readonly content?: Readonly<Record<string, unknown>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Answer>>;
  readonly "x-events"?: Readonly<Record<string, unknown>>;
}
export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Media types of bodies that are checked. */
const CHECKED: ReadonlySet<string> = new Set(["application/json", "application/problem+json"]);

/** Routes are added with it, and nobody asks it for anything. */
export const DEAF = { on: () => DEAF, off: () => DEAF, codeMode: {} } as unknown as Engine;

/** What the API's description says; no engine is asked for it. */
export async function readDocument(): Promise<OpenApi> {
  await using app = fastify();
  const registry = {} as Registry;
  const gate = {} as ScopedEngine;
  addRoutes(app, { engine: DEAF, gate, registry, isDraining: () => false, onDrain: () => undefined });
  return (await app.inject("/openapi.json")).json<OpenApi>();
}

/** Says what of an answer is not as the API is described. */
export class Conformance {
  readonly #document: OpenApi;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document: OpenApi) {
    this.#document = document;
    this.#ajv.addSchema(document, "api");
  }

  /** `body` is what came as JSON. */
  check(method: string, path: string, status: number, type: string, body: unknown): string[] {
    const found = this.#find(method, path);
    if (found === undefined) return [404, 405].includes(status) ? [] : [`${method} ${path} is not described`];
    const place = `${found.pointer}/responses/${status}`;
    const answer = found.operation.responses[status];
    // The address itself may be what cannot be read.
    if (answer === undefined) return status === 400 ? [] : [`${place} is not described`];
    if (body === undefined) return [];
    if (answer.content?.[type] === undefined) return [`${place} has no ${type}`];
    if (!CHECKED.has(type)) return [];
    return this.#violations(`${place}/content/${type.replace("/", "~1")}/schema`, body);
  }

  /** The same for an event of a stream. */
  checkEvent(method: string, path: string, event: string, data: unknown): string[] {
    const found = this.#find(method, path);
    const place = `${found?.pointer}/x-events/${event}`;
    if (found?.operation["x-events"]?.[event] === undefined) return [`${place} is not described`];
    return this.#violations(place, data);
  }

  #violations(pointer: string, value: unknown): string[] {
    const validate = this.#ajv.getSchema(`api#${pointer}`) ?? this.#ajv.compile({ $ref: `api#${pointer}` });
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${pointer}: ${instancePath} ${message}`);
  }

  #find(method: string, path: string): { readonly operation: Operation; readonly pointer: string } | undefined {
    for (const [template, operations] of Object.entries(this.#document.paths)) {
      const operation = operations[method.toLowerCase()];
      if (operation === undefined || !new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path)) continue;
      return {
        operation,
        pointer: `/paths/${encodeURIComponent(template.replaceAll("/", "~1"))}/${method.toLowerCase()}`,
      };
    }
    return undefined;
  }
}

const conformance = readDocument().then((document) => new Conformance(document));

/** `fetch`, which fails where an answer is not as the API is described. */
export async function conformingFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  const { pathname } = new URL(url);
  const method = init.method ?? "GET";
  if (method === "HEAD") return response;
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  // Others may stop reading what they get before its end.
  const isJson = CHECKED.has(type);
  const body = isJson ? ((await response.clone().json()) as unknown) : type === "" ? undefined : "";
  const wrong = (await conformance).check(method, pathname, response.status, type, body);
  if (wrong.length > 0) throw new Error(`the answer is not as it is described: ${wrong.join("; ")}`);
  return response;
}
