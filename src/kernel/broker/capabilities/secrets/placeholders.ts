import { matchesName } from "../../../base/name-patterns.ts";
import { percentOf } from "../../../base/redaction/forms.ts";
import { CapabilityRefusal } from "../capability.ts";
import { nameGrants } from "../names.ts";
import type { Binding, BoundRequest, UnboundPart } from "./binding.ts";
import { placeholderOf, type RequestSecrets, type Secret } from "./secrets.ts";

const PLACEHOLDER = /glovebox\.secret\.([A-Za-z0-9_]{1,64})\./g;
const BASIC = /^(basic +)([A-Za-z0-9+/]+={0,2})$/i;

/** Maximum number of placeholders in a request, because each can make it longer. */
const PLACEHOLDERS_MAX = 32;
/** Maximum length of a place in messages: the tool chose its name. */
const PLACE_SHOWN_MAX = 100;

/** Encodes a secret for its position in a request. */
type SecretEncoding = (value: string) => string;

/** Name and value of a header. */
type HeaderPair = readonly [name: string, value: string];

/** A request with a secret in a place that is not bound to it. It was refused, and nothing of it was sent. */
export interface SecretViolation {
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** Name of the secret. */
  readonly secret: string;
  /** Origin of the request. */
  readonly origin: string;
  readonly method: string;
  /** Place of the placeholder: `header:authorization`, `query:key`, `path`, `body`. */
  readonly place: string;
  /** The part of the request that no binding allows. */
  readonly reason: UnboundPart;
}

/** A violation without the call that made it. */
export type UnboundRequest = Omit<SecretViolation, "callId" | "tool" | "tenant">;

/** Whether a header's value or a URL contains a placeholder. */
export function hasPlaceholder(value: string): boolean {
  return value.search(PLACEHOLDER) >= 0 || (basicOf(value)?.credentials.search(PLACEHOLDER) ?? -1) >= 0;
}

/**
 * Names of secrets in placeholders of texts: bodies, URLs, values of headers. Of a text with more placeholders than a
 * request may contain, which is refused, only the first ones are read.
 */
export function namesIn(texts: readonly string[]): ReadonlySet<string> {
  const written = texts.flatMap((text) => [text, basicOf(text)?.credentials ?? ""]);
  return new Set(written.flatMap((text) => [...placeholdersOf(text).take(PLACEHOLDERS_MAX + 1)]));
}

/** The name in each placeholder of a text. Read lazily: a text of megabytes may consist of placeholders. */
function placeholdersOf(text: string): IteratorObject<string> {
  return text.matchAll(PLACEHOLDER).map(([, name = ""]) => name);
}

/** Options for filling the placeholders of a request. */
export interface PlaceholderOptions extends BoundRequest {
  readonly secrets: RequestSecrets;
  /** Patterns of the names of secrets that the call is granted. */
  readonly granted: () => readonly string[];
  /** Names that the tool itself wrote. Other placeholders, which a server put into a redirect, stay as they are. */
  readonly written: ReadonlySet<string>;
  /** Whether a redirect led to another origin than the tool's own: no secret goes there. */
  readonly hasLeftOrigin: boolean;
  readonly onUnbound: (request: UnboundRequest) => void;
}

/**
 * Puts secrets into the bound places of one request. Throws a `CapabilityRefusal` for a secret that the call is not
 * granted, or for a place that is not bound to it.
 */
export class Placeholders {
  /** Names of the secrets that were put in so far. */
  readonly filled = new Set<string>();
  readonly #options: PlaceholderOptions;
  #count = 0;

  constructor(options: PlaceholderOptions) {
    this.#options = options;
  }

  /** The path with its query. */
  inUrl({ pathname, search }: URL): string {
    const query = search
      .slice(1)
      .split("&")
      .map((field) => this.#inField(field))
      .join("&");
    const path = this.#fill(pathname, "path", percentOf);
    return search === "" ? path : `${path}?${query}`;
  }

  /** The headers with their secrets, and with those that the host adds itself. */
  inHeaders(headers: readonly HeaderPair[]): readonly HeaderPair[] {
    const own = headers.map(([name, value]): HeaderPair => [name, this.#inHeader(name, value)]);
    return [...own, ...this.#injected(own)];
  }

  /** Encodes secrets by the type of the body: in forms and JSON, a secret must not end its field or string. */
  inBody(text: string, contentType: string): string {
    if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return this.#fill(text, "body", percentOf);
    if (/^[\w.+-]+\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) {
      return this.#fill(text, "body", (value) => JSON.stringify(value).slice(1, -1));
    }
    return this.#fill(text, "body", (value) => value);
  }

  #inField(field: string): string {
    const end = field.indexOf("=");
    const name = this.#fill(end < 0 ? field : field.slice(0, end), "query", percentOf);
    if (end < 0) return name;
    const value = this.#fill(decode(field.slice(end + 1)), `query:${decode(name)}`, percentOf, field.slice(end + 1));
    return `${name}=${value}`;
  }

  #inHeader(name: string, value: string): string {
    const basic = name === "authorization" ? basicOf(value) : null;
    if (basic === null || basic.credentials.search(PLACEHOLDER) < 0)
      return this.#fill(value, `header:${name}`, bytesOf);
    const [user = "", ...rest] = basic.credentials.split(":");
    const halves = [this.#fill(user, "basic:user", bytesOf)];
    if (rest.length > 0) halves.push(this.#fill(rest.join(":"), "basic:password", bytesOf));
    return basic.scheme + Buffer.from(halves.join(":"), "latin1").toString("base64");
  }

  /** Headers that the host adds: those of the call's secrets that are injected, if the tool has set none. */
  #injected(own: readonly HeaderPair[]): readonly HeaderPair[] {
    const { secrets, hasLeftOrigin } = this.#options;
    if (hasLeftOrigin || secrets.injected.length === 0) return [];
    const added = new Map<string, string>();
    for (const secret of secrets.injected.filter(({ name }) => this.#isGranted(name))) {
      for (const { place, template } of secret.bindings.filter(
        (each) => each.missing(this.#options, each.place) === null,
      )) {
        const [kind = "", key = ""] = place.split(":");
        const header = kind === "basic" ? "authorization" : key;
        if (added.has(header) || own.some(([name]) => name === header)) continue;
        const [before, after] = template ?? ["", ""];
        added.set(header, kind === "basic" ? basicOfHalf(key, secret.value) : bytesOf(before + secret.value + after));
        this.filled.add(secret.name);
      }
    }
    return [...added];
  }

  /** `text`: the decoded text. `raw`: the text as the tool wrote it, which is kept if nothing is filled in. */
  #fill(text: string, place: string, write: SecretEncoding, raw = text): string {
    // Count first: replacing too many placeholders could exhaust memory.
    const written = placeholdersOf(text).filter((name) => this.#options.written.has(name));
    const names = [...written.take(PLACEHOLDERS_MAX + 1)];
    const [only = ""] = names;
    if (names.length === 0) return raw;
    this.#count += names.length;
    if (this.#count > PLACEHOLDERS_MAX) throw this.#tooMany();
    const uses = new Map(names.map((name) => [name, this.#decide(name, place)]));
    for (const name of names) this.filled.add(name);
    const use = uses.get(only);
    if (use !== undefined && use.bindings.every(({ template }) => template !== null)) {
      const template = use.bindings.find((binding) => isAs(binding, text, only))?.template ?? null;
      if (template === null) throw this.#unbound(use.secret, place, "form");
      return write(template[0]) + write(use.secret.value) + write(template[1]);
    }
    return raw.replaceAll(PLACEHOLDER, (placeholder, name: string) => {
      const value = uses.get(name)?.secret.value;
      return value === undefined ? placeholder : write(value);
    });
  }

  #tooMany(): CapabilityRefusal {
    return new CapabilityRefusal("limit", `a request may contain ${PLACEHOLDERS_MAX} secret placeholders`, {
      asked: `more placeholders in a request to ${this.#options.url.origin}`,
      granted: `${PLACEHOLDERS_MAX} in a request`,
      remedy: "send several requests",
    });
  }

  #isGranted(name: string): boolean {
    return this.#options.granted().some((pattern) => matchesName(pattern, name));
  }

  /** The secret, and its bindings that allow it in a place of this request. */
  #decide(name: string, place: string): { readonly secret: Secret; readonly bindings: readonly Binding[] } {
    const { secrets, url, hasLeftOrigin } = this.#options;
    const asked = `secret "${name}" in a request to ${url.origin}`;
    if (!this.#isGranted(name)) {
      const names = this.#options.granted();
      throw new CapabilityRefusal("denied", `the secret "${name}" was not granted`, {
        asked,
        granted: names.length === 0 ? "no secrets" : `secrets ${nameGrants.describe(names)}`,
        remedy: `add "${name}" to capabilities.secrets of the tool, and to allow.secrets of a policy rule; where the call narrows its secrets, name it there as well`,
      });
    }
    const secret = secrets.find(name);
    if (secret === undefined) {
      throw new CapabilityRefusal("denied", `the engine has no secret "${name}"`, {
        asked,
        granted: "nothing",
        remedy: `add "${name}" with its bindings to the engine option secrets`,
      });
    }
    if (hasLeftOrigin) throw this.#unbound(secret, place, "redirect");
    const missing = secret.bindings.map((binding) => binding.missing(this.#options, place));
    const bindings = secret.bindings.filter((_, at) => missing[at] === null);
    if (bindings.length > 0) return { secret, bindings };
    // The part that the nearest binding lacks.
    const reason = (["path", "method", "place"] as const).find((part) => missing.includes(part)) ?? "origin";
    throw this.#unbound(secret, place, reason);
  }

  #unbound({ name, bindings }: Secret, fullPlace: string, reason: UnboundPart): CapabilityRefusal {
    const { url, method, onUnbound } = this.#options;
    const { origin } = url;
    const place = fullPlace.slice(0, PLACE_SHOWN_MAX);
    onUnbound({ secret: name, origin, method, place, reason });
    const granted = `secret "${name}" in requests to ${bindings.map((binding) => binding.describe()).join("; ")}`;
    return new CapabilityRefusal("denied", `the secret "${name}" ${REASONS[reason]({ origin, method, place })}`, {
      asked: `secret "${name}" in a request to ${origin}`,
      granted,
      remedy: `write its placeholder where it is bound, or add a binding to secrets.${name}.bind of the engine`,
    });
  }
}

const REASONS: {
  readonly [Reason in UnboundPart]: (request: Pick<UnboundRequest, "origin" | "method" | "place">) => string;
} = {
  origin: ({ origin }) => `does not belong to ${origin}`,
  place: ({ origin, place }) => `is not bound to ${place} of requests to ${origin}`,
  method: ({ origin, method }) => `is not bound to the method ${method} of requests to ${origin}`,
  path: ({ origin }) => `is not bound to this path of ${origin}`,
  form: ({ place }) => `may be written in ${place} only as it is bound there`,
  redirect: ({ origin }) => `is not sent after a redirect to another origin, here ${origin}`,
};

/** Whether a text is a placeholder alone, or has the form of the binding. */
function isAs({ template }: Binding, text: string, name: string): boolean {
  const placeholder = placeholderOf(name);
  return text === placeholder || (template !== null && text === template[0] + placeholder + template[1]);
}

/** Header values are bytes, one per character. */
function bytesOf(value: string): string {
  return Buffer.from(value).toString("latin1");
}

/** `Authorization: Basic` with a user and no password, or the other way around. */
function basicOfHalf(half: string, value: string): string {
  return `Basic ${Buffer.from(half === "user" ? `${value}:` : `:${value}`).toString("base64")}`;
}

/** Decodes a part of a query. An undecodable part stays unchanged. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch {
    return part;
  }
}

/** Scheme and decoded credentials of `Authorization: Basic`; `null` for other values. */
function basicOf(value: string): { readonly scheme: string; readonly credentials: string } | null {
  const [, scheme, base64] = BASIC.exec(value) ?? [];
  if (scheme === undefined || base64 === undefined) return null;
  return { scheme, credentials: Buffer.from(base64, "base64").toString("latin1") };
}
