import { Redactor } from "../../kernel/base/redaction/redactor.ts";
import { Binding } from "../../kernel/broker/capabilities/secrets/binding.ts";
import { placeholderOf, type RequestSecrets, type Secret } from "../../kernel/broker/capabilities/secrets/secrets.ts";

/** An access token as a secret: bound to its connector's origin and header, as all secrets are. */
export class TokenSecrets implements RequestSecrets {
  readonly injected: readonly Secret[];
  readonly #base: RequestSecrets;
  readonly #token: Secret;
  readonly #former: readonly string[];
  readonly #redactors = new Map<string, Redactor>();

  /** `former`: tokens that the server got before, and may still repeat. */
  constructor(base: RequestSecrets, token: Secret, former: readonly string[] = []) {
    this.#base = base;
    this.#former = former;
    this.#token = token;
    this.injected = base.injected;
  }

  /** The token, and those before it. */
  get values(): readonly string[] {
    return [this.#token.value, ...this.#former];
  }

  /** Name of the token among the secrets. */
  get name(): string {
    return this.#token.name;
  }

  /** The header that carries the token, with a placeholder. */
  get header(): readonly [name: string, value: string] {
    return ["authorization", `Bearer ${placeholderOf(this.#token.name)}`];
  }

  find(name: string): Secret | undefined {
    return name === this.#token.name ? this.#token : this.#base.find(name);
  }

  redactorOf(names: ReadonlySet<string>): Redactor | null {
    if (!names.has(this.#token.name)) return this.#base.redactorOf(names);
    const sorted = [...names].toSorted();
    const key = sorted.join(" ");
    const redactor = this.#redactors.get(key) ?? new Redactor(sorted.flatMap((name) => this.#shownOf(name)));
    this.#redactors.set(key, redactor);
    return redactor;
  }

  #shownOf(name: string): readonly { readonly value: string; readonly shown: string }[] {
    const { value } = this.find(name) ?? {};
    const values = [value ?? [], name === this.#token.name ? this.#former : []].flat();
    return values.map((each) => ({ value: each, shown: placeholderOf(name) }));
  }
}

/** An access token of a connector, for requests to its server. */
export function tokenSecret(connector: string, value: string, server: string): Secret {
  const { origin } = new URL(server);
  return {
    name: `login_${connector.replaceAll("-", "_")}`,
    value,
    bindings: Binding.readAll("login", [{ origin, in: "header:authorization", as: "Bearer {}" }]),
    isInjected: false,
  };
}
