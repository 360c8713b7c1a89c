/** The store of connectors' logins: a file, or Redis for engines on several machines. */
export type LoginStoreOptions =
  | {
      readonly kind: "file";
      /** An absolute path, or `:memory:`. */
      readonly path: string;
      /**
       * Text from which the key is derived; `null` for a random key in a file of the same name with the suffix `.key`.
       */
      readonly secret: string | null;
    }
  | { readonly kind: "redis"; readonly url: string; readonly fleet: string; readonly secret: string };

/** A stored login: its version counts its changes. */
export interface StoredLogin {
  readonly version: number;
  readonly text: string;
}

/** An attempt to become the only one that renews a login. */
export interface LoginClaim {
  readonly isHeld: boolean;
  /** Number of changes so far, also of a login that was removed. */
  readonly version: number;
  readonly login: StoredLogin | null;
}

/** The process that renews a login, and the version that it has claimed. */
export interface LoginHolder {
  readonly owner: string;
  readonly version: number;
}

/**
 * Texts by key, which one process at a time may replace. A claim expires unless it is extended, because its process may
 * have been killed. All methods reject with a `StoreError` if the store fails.
 */
export interface LoginTable {
  read(key: string): Promise<StoredLogin | null>;
  claim(key: string, owner: string, leaseMs: number): Promise<LoginClaim>;
  /** Returns whether the owner still holds the claim. */
  extend(key: string, owner: string, leaseMs: number): Promise<boolean>;
  /**
   * Writes a text, as durably as the store can, and ends the claim. A `holder` writes only if there was no other write
   * since its claim; without one, any text is replaced. Returns the new version, or `null` if nothing was written.
   */
  write(key: string, holder: LoginHolder | null, text: string): Promise<number | null>;
  remove(key: string): Promise<boolean>;
  release(key: string, owner: string): Promise<void>;
  close(): Promise<void>;
}
