import { parseWithBigInts } from "../../kernel/base/exact-json.ts";
import type {
  AskConnector,
  BinaryBody,
  OpenApiBody,
  OpenApiOperation,
  OpenApiParameter,
  RemoteAnswer,
  RemoteRequest,
} from "../../kernel/guest/host.ts";
import { fileBody, isFile, multipartBody } from "./multipart.ts";
import {
  ArgumentError,
  formEntries,
  headerText,
  isObject,
  pathText,
  queryEntries,
  textOf,
  wholeQuery,
} from "./parameters.ts";

/** Characters of a failed request's answer that its error shows. */
const SHOWN_MAX = 1_000;
const STATUS = { redirect: 300, noContent: 204 } as const;
const JSON_TYPE = /^(?:(?:application|text)\/|[^;]*\+)json(?![\w.+-])/i;
/** Headers of answers that an output may have. */
const TOLD = /^(?:link|etag|location|retry-after|x-total-count|(?:x-)?ratelimit(?:-[\w-]+)?)$/;
/** A segment that a URL parser reads as a step up or as empty. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?=\/|$)/i;

type Arguments = Readonly<Record<string, unknown>>;

/** The answer of a server that did not execute the request. */
class AnswerError extends Error {
  override readonly name = "AnswerError";
}

/** Sends the request of an OpenAPI operation, and reads its answer. */
export async function callOpenApi(
  operation: OpenApiOperation,
  args: Arguments,
  ask: AskConnector,
  warn: (message: string) => void = () => undefined,
): Promise<unknown> {
  const answer = (await ask("request", requestOf(operation, args))) as RemoteAnswer;
  const body = outputOf(operation, answer, warn);
  if (!operation.hasHeaders) return body;
  return { body, headers: Object.fromEntries(answer.headers.filter(([name]) => TOLD.test(name))) };
}

/** The request for an operation's arguments. Throws an `ArgumentError`. */
export function requestOf({ connector, method, path, ...operation }: OpenApiOperation, args: Arguments): RemoteRequest {
  const given = operation.parameters.flatMap((parameter) => {
    const value = argumentOf(args, parameter.property);
    return value === undefined ? [] : [{ parameter, value }];
  });
  const texts = new Map<string, string>();
  const query: string[] = [];
  const headers: (readonly [name: string, value: string])[] = [];
  const cookies: string[] = [];
  if (operation.accept !== null) headers.push(["accept", operation.accept]);
  for (const { parameter, value } of given) {
    if (parameter.in === "path") texts.set(parameter.name, pathText(parameter, value));
    else if (parameter.in === "query") query.push(...queryEntries(parameter, value));
    else if (parameter.in === "querystring") query.push(...wholeQuery(parameter, value));
    else if (parameter.in === "cookie") {
      cookies.push(queryEntries(parameter, value).join(parameter.style === "cookie" ? "; " : "&"));
    } else headers.push([parameter.name, headerText(parameter, value)]);
  }
  if (cookies.length > 0) headers.push(["cookie", cookies.filter((cookie) => cookie !== "").join("; ")]);
  const { body, mediaType } = bodyOf(operation.body, args);
  if (body !== null) headers.push(["content-type", mediaType]);
  const target = targetOf(path, operation.parameters, texts);
  const between = query.length === 0 ? "" : target.includes("?") ? "&" : "?";
  return { connector, method, target: target + between + query.join("&"), headers, body };
}

/** `null` means an absent argument. */
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

interface SentBody {
  readonly body: string | BinaryBody | null;
  readonly mediaType: string;
}

function bodyOf(body: OpenApiBody | null, args: Arguments): SentBody {
  if (body === null || !Object.hasOwn(args, body.property)) return { body: null, mediaType: "" };
  const { property, encoding, mediaType } = body;
  const value = args[property];
  if (encoding === "bytes" && !isFile(value) && typeof value === "string") return { body: value, mediaType };
  if (encoding === "bytes") {
    const file = fileBody(property, value);
    return { ...file, mediaType: mediaType === "application/octet-stream" ? file.mediaType : mediaType };
  }
  if (encoding === "json") return { body: JSON.stringify(value), mediaType };
  if (encoding === "text") return { body: textOf(value), mediaType };
  if (!isObject(value)) throw new ArgumentError(`${property} must be an object: it is sent as a form`);
  if (encoding === "multipart") return multipartBody(value, body.fields);
  return { body: formEntries(body.fields, value).join("&"), mediaType };
}

/** The output in a server's answer. Throws an `AnswerError`. */
export function outputOf(
  { method, path }: OpenApiOperation,
  { status, headers, body }: RemoteAnswer,
  warn: (message: string) => void = () => undefined,
): unknown {
  const type = headers.find(([name]) => name === "content-type")?.[1] ?? "";
  if (status >= STATUS.redirect) {
    throw new AnswerError(`the server answered ${method} ${path} with status ${status}${shown(body)}`);
  }
  if (method === "HEAD" || status === STATUS.noContent) return null;
  if (typeof body !== "string") return { ...body, mediaType: type.split(";", 1)[0]?.trim() ?? "" };
  const isJson = JSON_TYPE.test(type);
  if (body === "") return isJson || type === "" ? null : "";
  try {
    return isJson || (type === "" && /^\s*[[{]/.test(body)) ? parseWithBigInts(body) : body;
  } catch {
    // The call has had its effect: the text may describe it.
    if (isJson) warn(`the server answered ${method} ${path} with a text that is not JSON, though it says so`);
    return body;
  }
}

function shown(body: string | BinaryBody): string {
  const text = typeof body === "string" ? body.trim() : "";
  if (text === "") return "";
  return text.length > SHOWN_MAX ? `: ${text.slice(0, SHOWN_MAX).toWellFormed()}…` : `: ${text}`;
}
