import { readFileSync } from "node:fs";
import { BoundedCache } from "../../../base/bounded-cache.ts";
import { notSet } from "../../../base/os/secret-source.ts";
import { Redactor } from "../../../base/redaction/redactor.ts";
import type { Capability } from "../capability.ts";
import { nameGrants } from "../names.ts";
import { Binding, type SecretBinding } from "./binding.ts";

/** Source of a secret's value. */
type SecretSource = { readonly value: string } | { readonly env: string } | { readonly file: string };

/** Requests that may carry a secret. */
export interface SecretUse {
  readonly bind: readonly SecretBinding[];
  /**
   * Whether the host adds the secret to requests of tools that are granted it, if the tool does not set the header. For
   * bindings to headers and to `basic:`. Default: false.
   */
  readonly inject?: boolean;
  /**
   * Whether the origins return texts that others stored there. A secret of less than 16 characters is then not
   * injected: it could be guessed by storing guesses. Default: false.
   */
  readonly echoes?: boolean;
}

/** The old form, for all headers of requests to these origins. */
interface SecretOrigins {
  /** @deprecated Use `bind`; removed in the next release. */
  readonly origins: readonly string[];
}

/** Source of a secret's value, and the requests that may carry it. */
export type SecretOptions = SecretSource & (SecretUse | SecretOrigins);

/** A secret of an engine. */
export interface Secret {
  readonly name: string;
  readonly value: string;
  readonly bindings: readonly Binding[];
  readonly isInjected: boolean;
}

/** The secrets of a request: placeholders are filled with them, and answers are searched for them. */
export type RequestSecrets = Pick<Secrets, "injected" | "find" | "redactorOf">;

const NAME = /^[A-Za-z0-9_]{1,64}$/;
const SECRETS_MAX = 100;
/** Minimum length: a shorter value may occur in texts by chance, and could not be removed from them. */
const VALUE_MIN = 8;
const VALUE_MAX = 4_096;
/** Minimum length of a secret that is added to all requests to an origin at which others can store guesses. */
const ECHOED_MIN = 16;
/** Maximum of all values together. */
const VALUES_MAX = 64 * 1024;
/** Redactors that are kept, one for each set of secrets that was in a request, and the size of their tables. */
const REDACTORS_MAX = 256;
const TABLES_BYTES_MAX = 64 * 1024 * 1024;
const FIELDS: ReadonlySet<string> = new Set(["value", "env", "file", "bind", "inject", "echoes", "origins"]);

/** The text in place of a secret wherever a tool can see it. */
export function placeholderOf(name: string): string {
  return `glovebox.secret.${name}.`;
}

/** Secrets of an engine, read when it starts. */
export class Secrets {
  /** Secrets that the host adds to requests itself. */
  readonly injected: readonly Secret[];
  readonly #secrets = new Map<string, Secret>();
  readonly #redactors = new BoundedCache<Redactor>(REDACTORS_MAX, TABLES_BYTES_MAX, ({ tableBytes }) => tableBytes);

  /** Throws a `TypeError` that names the secret, and never its value. */
  constructor(
    options: { readonly [name: string]: SecretOptions },
    environment: NodeJS.ProcessEnv,
    warn: (names: readonly string[]) => void = warnOfOrigins,
  ) {
    const entries = Object.entries(options);
    if (entries.length > SECRETS_MAX) throw new TypeError(`at most ${SECRETS_MAX} secrets are allowed`);
    let characters = 0;
    for (const [name, option] of entries) {
      const secret = readSecret(name, option, environment);
      characters += secret.value.length;
      if (characters > VALUES_MAX) throw new TypeError(`the secrets have more than ${VALUES_MAX} characters in total`);
      this.#secrets.set(name, secret);
    }
    this.injected = [...this.#secrets.values()].filter(({ isInjected }) => isInjected);
    warn(entries.flatMap(([name, option]) => ("origins" in option ? [name] : [])));
  }

  /** Options that make the same secrets elsewhere, with the values that were read here. */
  static resolved(
    options: { readonly [name: string]: SecretOptions },
    secrets: Secrets,
  ): { readonly [name: string]: SecretOptions } {
    return Object.fromEntries(
      Object.entries(options).flatMap(([name, option]) => {
        const value = secrets.find(name)?.value;
        return value === undefined ? [] : [[name, withValue(option, value)]];
      }),
    );
  }

  find(name: string): Secret | undefined {
    return this.#secrets.get(name);
  }

  /** Replaces named secrets by their placeholders. `null` for no names. */
  redactorOf(names: ReadonlySet<string>): Redactor | null {
    if (names.size === 0) return null;
    const sorted = [...names].toSorted();
    return this.#redactors.getOrMake(sorted.join(" "), () => {
      const secrets = sorted.flatMap((name) => this.find(name) ?? []);
      return new Redactor(secrets.map(({ name, value }) => ({ value, shown: placeholderOf(name) })));
    });
  }

  /** Replaces all secrets of the engine in a text of the embedder. */
  redact(text: string): string {
    return this.redactorOf(new Set(this.#secrets.keys()))?.text(text) ?? text;
  }
}

function withValue(option: SecretOptions, value: string): SecretOptions {
  if ("origins" in option) return { value, origins: option.origins };
  const { bind, inject = false, echoes = false } = option;
  return { value, bind, inject, echoes };
}

function warnOfOrigins(names: readonly string[]): void {
  if (names.length === 0) return;
  const where = names.map((name) => `secrets.${name}.origins`).join(", ");
  process.emitWarning(
    `${where}: a list of origins puts a secret into any header; use bind: [{ origin, in }] instead`,
    "DeprecationWarning",
    "GLOVEBOX_SECRET_ORIGINS",
  );
}

function readSecret(name: string, option: SecretOptions, environment: NodeJS.ProcessEnv): Secret {
  const where = `secrets.${name.slice(0, 64)}`;
  if (!NAME.test(name))
    throw new TypeError(`${where}: the name of a secret has 1 to 64 letters, digits and underscores`);
  if (typeof option !== "object" || option === null || "bind" in option === "origins" in option) {
    throw new TypeError(`${where} needs bind, a list of bindings, and a value, env or file`);
  }
  if (Object.keys(option).some((field) => !FIELDS.has(field)))
    throw new TypeError(`${where} has a field other than ${[...FIELDS].join(", ")}`);
  const bindings = readBindings(where, option);
  const value = readValue(where, option, environment);
  if (value.length < VALUE_MIN || value.length > VALUE_MAX) {
    throw new TypeError(
      `${where} is not ${VALUE_MIN} to ${VALUE_MAX} characters long, so it could not be kept out of answers`,
    );
  }
  return { name, value, bindings, isInjected: readInject(where, option, bindings, value) };
}

function readBindings(where: string, option: SecretOptions): readonly Binding[] {
  if ("bind" in option) return Binding.readAll(`${where}.bind`, option.bind);
  const { origins } = option;
  if (!Array.isArray(origins) || origins.length === 0)
    throw new TypeError(`${where} needs bind, a list of bindings, and a value, env or file`);
  return origins.map((origin: unknown, at) => Binding.ofOrigin(`${where}.origins[${at}]`, origin));
}

function readInject(
  where: string,
  option: SecretOptions,
  bindings: readonly Binding[],
  { length }: { readonly length: number },
): boolean {
  const { inject = false, echoes = false } = option as Partial<SecretUse>;
  if (typeof inject !== "boolean" || typeof echoes !== "boolean")
    throw new TypeError(`${where}.inject and ${where}.echoes are true or false`);
  if (!inject) return false;
  const isOfHeaders = bindings.every(({ isInjectable }) => isInjectable);
  if (!isOfHeaders) throw new TypeError(`${where}.inject is only for bindings to header:NAME and to basic:`);
  if (echoes && length < ECHOED_MIN)
    throw new TypeError(
      `${where} has less than ${ECHOED_MIN} characters, so with echoes it could be guessed if injected`,
    );
  return true;
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
    if (value === undefined) throw notSet(`${where}.env`, option.env);
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
