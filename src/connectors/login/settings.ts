import { createHash } from "node:crypto";
import type { LoginStoreOptions } from "../store/login-table.ts";

/** How a client authenticates to an authorization server. Secrets are named, not contained. */
export type ClientProof =
  | { readonly kind: "none" }
  | { readonly kind: "basic" | "post"; readonly secret: string }
  | {
      readonly kind: "private_key_jwt";
      readonly key: string;
      readonly keyId: string | null;
      readonly algorithm: string;
    };

/** Grants by which a connector gets access tokens. */
export type LoginGrant =
  | { readonly kind: "clientCredentials" }
  /** `token`: name of the secret that is the first refresh token. */
  | { readonly kind: "refreshToken"; readonly token: string }
  | { readonly kind: "authorizationCode"; readonly perTenant: boolean };

/** How a connector gets access tokens: plain data, without the values of secrets. */
export interface LoginSettings {
  readonly connector: string;
  readonly grant: LoginGrant;
  /** The authorization server as its metadata and answers name it. */
  readonly issuer: string | null;
  /** Endpoints that the operator names; without them, those of the issuer's metadata. */
  readonly tokenUrl: string | null;
  readonly authorizationUrl: string | null;
  readonly deviceUrl: string | null;
  /** `null`: a client is registered with the login. */
  readonly clientId: string | null;
  readonly proof: ClientProof;
  readonly scope: string | null;
  readonly audience: string | null;
  /** The resource that tokens are for (RFC 8707). */
  readonly resource: string | null;
  /** Whether the authorization server may have an address that is not public, at any address in its metadata. */
  readonly isPrivate: boolean;
}

/** A connector's login, as the thread that sends its requests needs it. */
export interface LoginUse {
  readonly settings: LoginSettings;
  readonly store: LoginStoreOptions;
}

/** Names of the secrets that a login sends to its authorization server, or signs with. */
export function secretsOfLogin({ proof, grant }: LoginSettings): readonly string[] {
  const ofProof = proof.kind === "none" ? [] : [proof.kind === "private_key_jwt" ? proof.key : proof.secret];
  return grant.kind === "refreshToken" ? [...ofProof, grant.token] : ofProof;
}

/** Digest of a login's server, client and resource: a stored login of another one is not used. */
export function identityOf({ grant, issuer, tokenUrl, clientId, resource, audience }: LoginSettings): string {
  const parts = [grant.kind, issuer, tokenUrl, clientId, resource, audience];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** The command that logs a connector in, for messages. */
export function loginCommand({ connector }: Pick<LoginSettings, "connector">, tenant: string): string {
  // A tenant's name is its own: only plain ones are shown in a command.
  const shown = /^[\w.@:-]{1,64}$/.test(tenant) ? tenant : "TENANT";
  return `glovebox connectors login ${connector}${tenant === "" ? "" : ` --tenant ${shown}`}`;
}

/** Key of a login in its store. */
export function keyOfLogin({ connector }: Pick<LoginSettings, "connector">, tenant: string): string {
  return tenant === "" ? connector : `${connector} ${tenant}`;
}
