import { parseWithBigInts } from "../../base/exact-json.ts";
import type {
  AskConnector,
  OpenApiBody,
  OpenApiForm,
  OpenApiOperation,
  OpenApiParameter,
  RemoteAnswer,
  RemoteRequest,
} from "../host.ts";
import { ArgumentError, headerText, isObject, pathText, queryEntries, textOf } from "./parameters.ts";

/** Characters of a failed request's answer that its error shows. */
const SHOWN_MAX = 1_000;
const STATUS = { redirect: 300, noContent: 204 } as const;
const JSON_TYPE = /^application\/json\b|\+json\b|^text\/json\b/i;
/** Media types whose answers are bytes: as a text, they would be noise. */
const BINARY_TYPE = /^(?:image|audio|video|font)\/(?!svg)|^application\/(?:octet-stream|pdf|zip|gzip|x-tar)\b/i;
/** A segment that a URL's reader takes for a step up or for nothing. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?=\/|$)/i;

type Arguments = Readonly<Record<string, unknown>>;

/** The answer of a server that did not do what it was asked for. */
class AnswerError extends Error {
  override readonly name = "AnswerError";
}

/** Sends the request of an OpenAPI operation, and reads its answer. */
export async function callOpenApi(operation: OpenApiOperation, args: Arguments, ask: AskConnector): Promise<unknown> {
  const answer = await ask("request", requestOf(operation, args));
  return outputOf(operation, answer as RemoteAnswer);
}

/** The request that an operation's arguments stand for. Throws an `ArgumentError`. */
export function requestOf({ connector, method, path, ...operation }: OpenApiOperation, args: Arguments): RemoteRequest {
  const given = operation.parameters.flatMap((parameter) => {
    const value = argumentOf(args, parameter.property);
    return value === undefined ? [] : [{ parameter, value }];
  });
  const texts = new Map<string, string>();
  const query: string[] = [];
  const headers: (readonly [name: string, value: string])[] = [];
  if (operation.accept !== null) headers.push(["accept", operation.accept]);
  for (const { parameter, value } of given) {
    if (parameter.in === "path") texts.set(parameter.name, pathText(parameter, value));
    else if (parameter.in === "query") query.push(...queryEntries(parameter, value));
    else headers.push([parameter.name, headerText(parameter, value)]);
  }
  const body = bodyOf(operation.body, args);
  if (operation.body !== null && body !== null) headers.push(["content-type", operation.body.mediaType]);
  const target = targetOf(path, operation.parameters, texts) + (query.length === 0 ? "" : `?${query.join("&")}`);
  return { connector, method, target, headers, body };
}

/** `null` stands for an argument that is not there. */
function argumentOf(args: Arguments, name: string): unknown {
  return Object.hasOwn(args, name) ? (args[name] ?? undefined) : undefined;
}

function targetOf(path: string, parameters: readonly OpenApiParameter[], texts: ReadonlyMap<string, string>): string {
  const target = path.replaceAll(/\{([^{}]*)\}/g, (_all, name: string) => {
    const text = texts.get(name);
    if (text !== undefined) return text;
    const parameter = parameters.find((one) => one.in === "path" && one.name === name);
    throw new ArgumentError(`${parameter?.property ?? name} is missing: it is a part of the path ${path}`);
  });
  if (DOTS.test(target))
    throw new ArgumentError(`a part of the path ${path} would be "." or "..", which lead elsewhere`);
  return target;
}

function bodyOf(body: OpenApiBody | null, args: Arguments): string | null {
  if (body === null || !Object.hasOwn(args, body.property)) return null;
  const value = args[body.property];
  if (body.encoding === "json") return JSON.stringify(value);
  if (body.encoding === "text") return textOf(value);
  if (!isObject(value)) throw new ArgumentError(`${body.property} must be an object: it is sent as a form`);
  return Object.entries(value)
    .filter(([, one]) => one !== null)
    .flatMap(([name, one]) => queryEntries(fieldOf(body, name, one), one))
    .join("&");
}

function fieldOf({ fields }: OpenApiBody, name: string, value: unknown): OpenApiForm {
  const known = fields.find((one) => one.name === name);
  return known ?? { name, style: isObject(value) ? "json" : "form", isExploded: true };
}

/** The output in a server's answer. Throws an `AnswerError`. */
export function outputOf({ method, path }: OpenApiOperation, { status, headers, body }: RemoteAnswer): unknown {
  const type = headers.find(([name]) => name === "content-type")?.[1] ?? "";
  const problem = (said: string): AnswerError => new AnswerError(`the server answered ${method} ${path} with ${said}`);
  if (status >= STATUS.redirect) throw problem(`status ${status}${shown(body)}`);
  if (method === "HEAD" || status === STATUS.noContent) return null;
  if (BINARY_TYPE.test(type)) throw problem(`${type.slice(0, SHOWN_MAX)}, which is not text`);
  const isJson = JSON_TYPE.test(type);
  if (body === "") return isJson || type === "" ? null : "";
  try {
    return isJson || (type === "" && /^\s*[[{]/.test(body)) ? parseWithBigInts(body) : body;
  } catch {
    if (isJson) throw problem(`a text that is not JSON${shown(body)}`);
    return body;
  }
}

function shown(body: string): string {
  const text = body.trim();
  if (text === "") return "";
  return text.length > SHOWN_MAX ? `: ${text.slice(0, SHOWN_MAX).toWellFormed()}…` : `: ${text}`;
}
