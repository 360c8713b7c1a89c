import type { Role } from "../access/caller.ts";
import type { OAuthSettings } from "../access/oauth-options.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const MCP = "/mcp";

/** Metadata that names the authorization server of this server to clients (RFC 9728). */
export class ResourceMetadata {
  readonly #settings: OAuthSettings;
  readonly #origin: string;
  /** Path of the public address. */
  readonly #path: string;

  constructor(settings: OAuthSettings) {
    const { origin, pathname } = new URL(settings.resource);
    this.#settings = settings;
    this.#origin = origin;
    this.#path = pathname.replace(/\/$/, "");
  }

  /** Parameter of `WWW-Authenticate` that names the metadata of the requested resource. */
  challenge(url: string): string {
    const of = /^\/mcp(?:\?|$)/.test(url) ? MCP : "";
    return `, resource_metadata="${this.#origin}${WELL_KNOWN}${this.#path}${of}"`;
  }

  /** Scopes that give a role, as a value of `WWW-Authenticate`. */
  scopesFor(role: Role): string {
    const scopes = Object.entries(this.#settings.scopes).filter(([, roles]) => roles.includes(role));
    return scopes.map(([scope]) => scope).join(" ");
  }

  /** The metadata of the server and of its MCP endpoint, by their paths. */
  documents(): ReadonlyMap<string, object> {
    const { issuer, scopes, resource } = this.#settings;
    const documentOf = (of: string): object => ({
      resource: `${resource}${of}`,
      authorization_servers: [issuer],
      scopes_supported: Object.keys(scopes),
      bearer_methods_supported: ["header"],
    });
    return new Map(["", MCP].map((of) => [`${WELL_KNOWN}${this.#path}${of}`, documentOf(of)]));
  }
}
