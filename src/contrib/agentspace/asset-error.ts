/** Reasons for refusing an upload, with their HTTP statuses. */
export const ASSET_REFUSALS = {
  not_multipart: 415,
  bad_upload: 400,
  missing_asset: 400,
  missing_metadata: 400,
  bad_metadata: 400,
  wrong_type: 415,
  too_large: 413,
  conflict: 409,
  too_many: 429,
  full: 413,
} as const;

export type AssetRefusal = keyof typeof ASSET_REFUSALS;

/** Thrown for a refused asset; match on `code`. */
export class AssetError extends Error {
  override readonly name = "AssetError";
  readonly code: AssetRefusal;
  /** JSON pointer to the error in the metadata. */
  readonly pointer: string | undefined;

  constructor(code: AssetRefusal, message: string, pointer?: string) {
    super(message);
    this.code = code;
    this.pointer = pointer;
  }
}
