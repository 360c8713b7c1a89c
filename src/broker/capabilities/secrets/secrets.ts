import { readFileSync } from "node:fs";
import { Redactor } from "../../../base/redaction/redactor.ts";
import type { Capability } from "../capability.ts";
import { matchesUrl, type OriginPattern, PATTERN_FORM, readOriginPattern } from "../fetch/origin-pattern.ts";
import { nameGrants } from "../names.ts";

/** Source of a secret's value, and the origins to which it may be sent, in the form of `fetch` origins. */
export type SecretOptions = { readonly origins: readonly string[] } & (
  { readonly value: string } | { readonly env: string } | { readonly file: string }
);

/** A secret, and the origins to which it may be sent. */
interface Secret {
  readonly name: string;
  readonly value: string;
  readonly origins: readonly OriginPattern[];
}

const NAME = /^[A-Za-z0-9_]{1,64}$/;
const SECRETS_MAX = 100;
/** Minimum length: a shorter value may occur in texts by chance, and could not be removed from them. */
const VALUE_MIN = 8;
const VALUE_MAX = 4_096;
/** Maximum of all values together: each response is searched for all of them. */
const VALUES_MAX = 64 * 1024;

/** The text that stands for a secret wherever a tool can see it. */
function placeholderOf(name: string): string {
  return `glovebox.secret.${name}.`;
}

/** Secrets of an engine, read when it starts. */
export class Secrets {
  readonly redactor: Redactor;
  readonly #secrets = new Map<string, Secret>();

  /** Throws a `TypeError` that names the secret, and never its value. */
  constructor(options: { readonly [name: string]: SecretOptions }, environment: NodeJS.ProcessEnv) {
    const entries = Object.entries(options);
    if (entries.length > SECRETS_MAX) throw new TypeError(`at most ${SECRETS_MAX} secrets are allowed`);
    let characters = 0;
    for (const [name, option] of entries) {
      const secret = readSecret(name, option, environment);
      characters += secret.value.length;
      if (characters > VALUES_MAX) throw new TypeError(`the secrets have more than ${VALUES_MAX} characters in total`);
      this.#secrets.set(name, secret);
    }
    this.redactor = new Redactor(
      [...this.#secrets.values()].map(({ name, value }) => ({ value, shown: placeholderOf(name) })),
    );
  }

  find(name: string): Secret | undefined {
    return this.#secrets.get(name);
  }
}

/** Whether a secret may be sent to a URL. */
export function belongsTo({ origins }: Secret, url: URL): boolean {
  return origins.some((pattern) => matchesUrl(pattern, url));
}

function readSecret(name: string, option: SecretOptions, environment: NodeJS.ProcessEnv): Secret {
  const where = `secrets.${name.slice(0, 64)}`;
  if (!NAME.test(name))
    throw new TypeError(`${where}: the name of a secret has 1 to 64 letters, digits and underscores`);
  if (typeof option !== "object" || option === null || !Array.isArray(option.origins) || option.origins.length === 0) {
    throw new TypeError(`${where} needs a list of origins, and a value, env or file`);
  }
  const origins = option.origins.map((text: unknown, at) => {
    const pattern = readOriginPattern(text);
    if (pattern === null) throw new TypeError(`${where}.origins[${at}] is ${PATTERN_FORM}`);
    return pattern;
  });
  const value = readValue(where, option, environment);
  if (value.length < VALUE_MIN || value.length > VALUE_MAX) {
    throw new TypeError(
      `${where} is not ${VALUE_MIN} to ${VALUE_MAX} characters long, so it could not be kept out of answers`,
    );
  }
  return { name, value, origins };
}

function readValue(where: string, option: SecretOptions, environment: NodeJS.ProcessEnv): string {
  const given: unknown = read(where, option, environment);
  if (typeof given !== "string") throw new TypeError(`${where} has no value`);
  return given;
}

function read(where: string, option: SecretOptions, environment: NodeJS.ProcessEnv): unknown {
  if ("value" in option) return option.value;
  if ("env" in option) {
    const value = environment[option.env];
    if (value === undefined) throw new TypeError(`${where}.env names a variable that is not set`);
    return value;
  }
  if (!("file" in option) || typeof option.file !== "string") return undefined;
  try {
    return readFileSync(option.file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    // Without `cause`: the original error names a path of the host, which logs would show.
    const { code } = error as NodeJS.ErrnoException;
    throw new TypeError(`${where}.file cannot be read: ${code ?? "it is not a file"}`);
  }
}

/**
 * `secrets`: permission to have the host fill named secrets into requests. It has no methods: tools write placeholders,
 * and cannot obtain a value.
 */
export const secretsCapability: Capability<readonly string[]> = {
  name: "secrets",
  grants: nameGrants,
  methods: {},
  open: () => ({ invoke: () => null }),
};
