import { createHash } from "node:crypto";
import { isObject } from "../../base/json.ts";
import { textOfFile, textOfVariable } from "../../base/os/secret-source.ts";
import { NOTE_EVENTS, type NoteEvent } from "../../store/calls/durable/durable-step.ts";

/** Source of the secret that signs notifications: the text itself, or its variable or file. */
export type NotifySecret = string | { readonly env: string } | { readonly file: string };

/** An address that is notified of waiting calls, by requests that are signed as in Standard Webhooks. */
export interface NotifyTarget {
  /** `https:`, or `http:` if the requests cannot be read by others. */
  readonly url: string;
  /** `whsec_` and base64 of 24 to 64 bytes, or another text of at least 16 characters. */
  readonly secret: NotifySecret;
  /** `paused`: a call waits for an approval. `in_doubt`: the outcome of an effect is unknown. `ended`. Default: all. */
  readonly events?: readonly NoteEvent[];
  /** Public address of the server at which a person decides by a link. Default: no links. */
  readonly links?: string;
  /** Whether notifications include arguments. Default: false. */
  readonly values?: boolean;
}

/** A target with its secret. */
export interface ResolvedTarget {
  readonly id: string;
  readonly url: string;
  readonly host: string;
  readonly key: Uint8Array;
  readonly events: readonly NoteEvent[];
  /** Without a slash at its end; `null` for no links. */
  readonly links: string | null;
  readonly values: boolean;
}

const TARGETS_MAX = 8;
const MEMBERS: readonly string[] = ["url", "secret", "events", "links", "values"];
const SECRET_MIN = 16;
const SECRET_MAX = 4_096;
const KEY_MIN = 24;
const KEY_MAX = 64;
const PREFIX = "whsec_";
const URL_MAX = 2_048;
const ID_DIGITS = 16;

/** Checks targets without their secrets. Throws a `TypeError` that names the mistake. */
export function checkNotify(given: readonly NotifyTarget[] | undefined): void {
  if (given === undefined) return;
  if (!Array.isArray(given) || given.length > TARGETS_MAX)
    throw new TypeError(`calls.notify must be a list of at most ${TARGETS_MAX} targets`);
  for (const [at, target] of given.entries()) checkTarget(`calls.notify[${at}]`, target);
  if (new Set(given.map(({ url }: NotifyTarget) => url)).size < given.length)
    throw new TypeError("calls.notify must name each url once");
}

/** Targets with their secrets. Throws a `TypeError` that names a secret which cannot be read, and never its value. */
export function resolveNotify(
  given: readonly NotifyTarget[] = [],
  environment: NodeJS.ProcessEnv,
): readonly ResolvedTarget[] {
  return given.map(({ url, secret, events = NOTE_EVENTS, links, values = false }, at) => ({
    id: createHash("sha256").update(url).digest("hex").slice(0, ID_DIGITS),
    url,
    host: new URL(url).host,
    key: keyOf(`calls.notify[${at}].secret`, secret, environment),
    events: [...events],
    links: links?.replace(/\/+$/, "") ?? null,
    values,
  }));
}

function checkTarget(name: string, target: unknown): void {
  if (!isObject(target)) throw new TypeError(`${name} must be an object with url and secret`);
  const odd = Object.keys(target).find((key) => !MEMBERS.includes(key));
  if (odd !== undefined) throw new TypeError(`${name} has a member that is not one of ${MEMBERS.join(", ")}`);
  const { url, secret, events, links, values } = target;
  requireUrl(`${name}.url`, url);
  if (links !== undefined) requireUrl(`${name}.links`, links);
  const sources = isObject(secret) ? [secret["env"], secret["file"]].filter((one) => one !== undefined) : [secret];
  if (sources.length !== 1 || typeof sources[0] !== "string" || sources[0] === "")
    throw new TypeError(`${name}.secret must be a text, { env: NAME } or { file: PATH }`);
  const known: readonly unknown[] = NOTE_EVENTS;
  if (
    events !== undefined &&
    (!Array.isArray(events) || events.length === 0 || !events.every((e) => known.includes(e)))
  )
    throw new TypeError(`${name}.events must be a list of ${NOTE_EVENTS.join(", ")}`);
  if (values !== undefined && typeof values !== "boolean") throw new TypeError(`${name}.values must be true or false`);
}

/** The address is not in the error, as it may have a password. */
function requireUrl(name: string, text: unknown): void {
  const url = typeof text === "string" && text.length <= URL_MAX ? URL.parse(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(`${name} must be an address that begins with https:// or http://`);
  if (url.username !== "" || url.password !== "")
    throw new TypeError(`${name} must have no user and no password: requests are signed with the secret`);
}

function keyOf(name: string, secret: NotifySecret, environment: NodeJS.ProcessEnv): Uint8Array {
  const text = textOf(name, secret, environment);
  if (!text.startsWith(PREFIX)) {
    if (text.length >= SECRET_MIN && text.length <= SECRET_MAX) return Buffer.from(text);
    throw new TypeError(`${name} must have ${SECRET_MIN} to ${SECRET_MAX} characters`);
  }
  const key = Buffer.from(text.slice(PREFIX.length), "base64");
  if (key.length >= KEY_MIN && key.length <= KEY_MAX) return key;
  throw new TypeError(`${name} must have base64 of ${KEY_MIN} to ${KEY_MAX} bytes after ${PREFIX}`);
}

function textOf(name: string, secret: NotifySecret, environment: NodeJS.ProcessEnv): string {
  if (typeof secret === "string") return secret;
  return "env" in secret
    ? textOfVariable(`${name}.env`, secret.env, environment)
    : textOfFile(`${name}.file`, secret.file);
}
