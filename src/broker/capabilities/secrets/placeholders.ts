import { percentOf } from "../../../base/redaction/forms.ts";
import { CapabilityRefusal, matchesName } from "../capability.ts";
import { nameGrants } from "../names.ts";
import { belongsTo, type Secrets } from "./secrets.ts";

const PLACEHOLDER = /glovebox\.secret\.([A-Za-z0-9_]{1,64})\./g;
const BASIC = /^(basic +)([A-Za-z0-9+/]+={0,2})$/i;

/** Maximum number of placeholders in a request, because each can make it longer. */
const PLACEHOLDERS_MAX = 32;

/** Encodes a secret for its position in a request. */
type SecretEncoding = (value: string) => string;

/** Whether a header's value or a URL contains a placeholder. */
export function hasPlaceholder(value: string): boolean {
  return value.search(PLACEHOLDER) >= 0 || (basicOf(value)?.credentials.search(PLACEHOLDER) ?? -1) >= 0;
}

/** Names of secrets in placeholders of texts: bodies, URLs, values of headers. */
export function namesIn(texts: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const text of texts) {
    for (const written of [text, basicOf(text)?.credentials ?? ""]) {
      for (const [, name = ""] of written.matchAll(PLACEHOLDER)) names.add(name);
    }
  }
  return names;
}

/** Options for filling the placeholders of a request. */
export interface PlaceholderOptions {
  readonly secrets: Secrets;
  /** Target of the request. */
  readonly url: URL;
  /** Patterns of the names of secrets that the call is granted. */
  readonly granted: () => readonly string[];
  /** Names that the tool itself wrote. Other placeholders, which a server put into a redirect, stay as they are. */
  readonly written: ReadonlySet<string>;
}

/**
 * Replaces placeholders by secrets in one request. Throws a `CapabilityRefusal` for a secret that the call is not
 * granted, or that does not belong to the request's target.
 */
export class Placeholders {
  readonly #secrets: Secrets;
  readonly #url: URL;
  readonly #granted: () => readonly string[];
  readonly #written: ReadonlySet<string>;
  /** Secrets by name, once they were permitted. */
  readonly #values = new Map<string, string>();
  #count = 0;

  constructor({ secrets, url, granted, written }: PlaceholderOptions) {
    this.#secrets = secrets;
    this.#url = url;
    this.#granted = granted;
    this.#written = written;
  }

  /** Whether a placeholder was replaced so far. */
  get areFilled(): boolean {
    return this.#count > 0;
  }

  inUrl(text: string): string {
    return this.#fill(text, percentOf);
  }

  inHeader(value: string): string {
    const basic = basicOf(value);
    if (basic === null || basic.credentials.search(PLACEHOLDER) < 0) return this.#fill(value, bytesOf);
    const credentials = Buffer.from(this.#fill(basic.credentials, bytesOf), "latin1");
    return basic.scheme + credentials.toString("base64");
  }

  /** Encodes secrets by the type of the body: in forms and JSON, a secret must not end its field or string. */
  inBody(text: string, contentType: string): string {
    if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return this.#fill(text, percentOf);
    if (/^[\w.+-]+\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) {
      return this.#fill(text, (value) => JSON.stringify(value).slice(1, -1));
    }
    return this.#fill(text, (value) => value);
  }

  #fill(text: string, write: SecretEncoding): string {
    // Count first: replacing too many placeholders could exhaust memory.
    for (const [, name = ""] of text.matchAll(PLACEHOLDER)) {
      if (this.#written.has(name) && ++this.#count > PLACEHOLDERS_MAX) throw this.#tooMany();
    }
    return text.replaceAll(PLACEHOLDER, (placeholder, name: string) =>
      this.#written.has(name) ? write(this.#valueOf(name)) : placeholder,
    );
  }

  #tooMany(): CapabilityRefusal {
    return new CapabilityRefusal("limit", `a request may contain ${PLACEHOLDERS_MAX} secret placeholders`, {
      asked: `more placeholders in a request to ${this.#url.origin}`,
      granted: `${PLACEHOLDERS_MAX} in a request`,
      remedy: "send several requests",
    });
  }

  #valueOf(name: string): string {
    const value = this.#values.get(name) ?? this.#decide(name);
    this.#values.set(name, value);
    return value;
  }

  #decide(name: string): string {
    const names = this.#granted();
    const asked = `secret "${name}" in a request to ${this.#url.origin}`;
    if (!names.some((pattern) => matchesName(pattern, name))) {
      throw new CapabilityRefusal("denied", `the secret "${name}" was not granted`, {
        asked,
        granted: names.length === 0 ? "no secrets" : `secrets ${nameGrants.describe(names)}`,
        remedy: `add "${name}" to capabilities.secrets of the tool, and to allow.secrets of a policy rule; where the call narrows its secrets, name it there as well`,
      });
    }
    const secret = this.#secrets.find(name);
    if (secret === undefined) {
      throw new CapabilityRefusal("denied", `the engine has no secret "${name}"`, {
        asked,
        granted: "nothing",
        remedy: `add "${name}" with its origins to the engine option secrets`,
      });
    }
    if (belongsTo(secret, this.#url)) return secret.value;
    throw new CapabilityRefusal("denied", `the secret "${name}" does not belong to ${this.#url.origin}`, {
      asked,
      granted: `secret "${name}" in requests to ${secret.origins.map(({ text }) => text).join(", ")}`,
      remedy: `add the origin to secrets.${name}.origins of the engine`,
    });
  }
}

/** Header values are bytes, one per character. */
function bytesOf(value: string): string {
  return Buffer.from(value).toString("latin1");
}

/** Scheme and decoded credentials of `Authorization: Basic`; `null` for other values. */
function basicOf(value: string): { readonly scheme: string; readonly credentials: string } | null {
  const [, scheme, base64] = BASIC.exec(value) ?? [];
  if (scheme === undefined || base64 === undefined) return null;
  return { scheme, credentials: Buffer.from(base64, "base64").toString("latin1") };
}
