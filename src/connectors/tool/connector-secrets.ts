import { namesIn } from "../../kernel/broker/capabilities/secrets/placeholders.ts";
import type { Secrets } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import type { NamedValue } from "../capability/route.ts";
import { secretsOfLogin } from "../login/settings.ts";
import type { ResolvedConnector } from "./options.ts";

/** Names of the secrets that a connector's requests carry, or its process gets. */
export function secretsOf({ source }: ResolvedConnector): readonly string[] {
  return [...namesIn(valuesOf(source).map(([, value]) => value))];
}

function valuesOf(source: ResolvedConnector["source"]): readonly NamedValue[] {
  switch (source.kind) {
    case "openapi":
      return [...source.headers, ...source.query];
    case "http":
      return source.headers;
    case "process":
      return source.env;
    default:
      return source satisfies never;
  }
}

/**
 * Throws a `TypeError` that names the connector and the secret, if a secret is missing, or is not bound to the
 * connector's server and the place in which the connector puts it. `server`: `null` for a process.
 */
export function checkSecrets(connector: ResolvedConnector, server: string | null, secrets: Secrets): void {
  const { name, source } = connector;
  checkLoginSecrets(connector, secrets);
  const places =
    source.kind === "process"
      ? source.env.map(([key, value]) => [`env.${key}`, value] as const)
      : [
          ...source.headers.map(([key, value]) => [`header:${key}`, value] as const),
          ...(source.kind === "openapi" ? source.query : []).map(([key, value]) => [`query:${key}`, value] as const),
        ];
  for (const [place, value] of places) {
    for (const named of namesIn([value])) {
      const secret = secrets.find(named);
      if (secret === undefined) throw missing(name, named);
      // The operator gives a process its secrets: it has no origin.
      if (server === null) continue;
      const request = { method: "GET", url: new URL(server) };
      const places = place === "header:authorization" ? [place, "basic:user", "basic:password"] : [place];
      const isBound = secret.bindings.some((binding) =>
        places.some((each) => {
          const missing = binding.missing(request, each);
          return missing !== "origin" && missing !== "place";
        }),
      );
      if (isBound) continue;
      const origin = request.url.origin;
      throw new TypeError(
        `connectors.${name} puts the secret "${named}" into ${place} of requests to ${origin}, to which it is not bound; ` +
          `add { origin: "${origin}", in: "${place}" } to secrets.${named}.bind, or use another secret`,
      );
    }
  }
}

/** Throws if a secret of its login is missing. Their bindings to servers are checked when these are known. */
export function checkLoginSecrets({ name, login }: ResolvedConnector, secrets: Secrets): void {
  for (const named of login === null ? [] : secretsOfLogin(login)) {
    if (secrets.find(named) === undefined) throw missing(name, named);
  }
}

function missing(connector: string, secret: string): TypeError {
  const problem = `connectors.${connector} names the secret "${secret}", which the engine does not have`;
  return new TypeError(`${problem}; add it to the option secrets, and start the engine anew`);
}
