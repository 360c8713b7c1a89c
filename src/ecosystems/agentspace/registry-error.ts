/** What went wrong with a registry. `conflict`: there is a tool of that id that shall stay. */
export type RegistryErrorCode = "conflict" | "not_found" | "full" | "too_large" | "closed";

/** Thrown by a registry; match on `code`. A record that is wrong is a `ContractError` instead. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: RegistryErrorCode;

  constructor(code: RegistryErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
