/*
 * What an engine says of its connectors: named servers whose operations are tools of the engine. Plain data, which
 * sources of tools make and surfaces show.
 */

/** Current state of a connector. */
export interface ConnectorStatus {
  readonly name: string;
  readonly kind: "openapi" | "mcp";
  /** URL of its server; `null` for a process. */
  readonly server: string | null;
  readonly state: "up" | "down";
  /** The reason for `down`. */
  readonly problem: string | null;
  readonly tools: readonly string[];
  /** Digest of the list that its server has now, for the option `pin`. */
  readonly digest: string | null;
  readonly pin: string | null;
  /** Operations that are not tools, with the reasons. */
  readonly findings: readonly ConnectorFinding[];
  /** Its login; `null` if it has none. */
  readonly login: LoginStatus | null;
}

/** A tool that was left out, or a part of a document; `tool` is `null` for a finding about the whole connector. */
export interface ConnectorFinding {
  readonly tool: string | null;
  readonly reason: string;
}

/** The login of a connector, as its last use left it. */
export interface LoginStatus {
  /** The kind of its `auth`. With `authorizationCode` a person logs in. */
  readonly auth: "clientCredentials" | "refreshToken" | "authorizationCode";
  /** `needed`: an operator has to log in, or to correct the options. `failing`: it is retried. */
  readonly state: "unused" | "ready" | "needed" | "failing";
  /** The reason for the missing token, with advice. */
  readonly reason: string | null;
  /** Tenants that need their own login, at most 100. */
  readonly tenants: readonly string[];
}

/** A change of a login, or an attempt to renew its token. Without tokens. */
export interface LoginReport {
  readonly connector: string;
  /** Empty for the login of all. */
  readonly tenant: string;
  readonly state: "ready" | "needed" | "failing";
  /** The reason for the missing token; `null` if there is one. */
  readonly reason: string | null;
  /** Outcome of a renewal; `null` if none was tried. */
  readonly renewal: "renewed" | "refused" | "failed" | null;
}

/** A login that a browser has to finish. */
export interface BegunLogin {
  /** The URL at which the person logs in. */
  readonly url: string;
  /** Time in which that has to be done, in milliseconds. */
  readonly expiresInMs: number;
}

/** A login that was finished. */
export interface FinishedLogin {
  readonly connector: string;
  readonly tenant: string;
}
