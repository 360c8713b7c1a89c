/** Types of the values that the library's bundler provides, and of npm packages without types. */

/** Node's tables of constants. */
declare const NODE_CONSTANTS: {
  readonly METHODS: readonly string[];
  readonly STATUS_CODES: { readonly [status: string]: string };
  readonly os: { readonly [name: string]: unknown };
  readonly fs: { readonly [name: string]: number };
  readonly zlib: { readonly [name: string]: number };
  readonly codes: { readonly [name: string]: unknown };
  readonly http2: { readonly [name: string]: unknown };
  readonly crypto: { readonly [name: string]: unknown };
};

declare module "readable-stream" {
  const stream: { [name: string]: unknown };
  export default stream;
}
declare module "readable-stream/lib/ours/errors.js" {
  const errors: { readonly [name: string]: unknown };
  export default errors;
}
declare module "unenv/node/internal/url/errors" {
  export const ERR_INVALID_ARG_TYPE: unknown;
}
declare module "unenv/node/url" {
  const url: { readonly [name: string]: unknown };
  export default url;
}
declare module "unenv/node/querystring" {
  const querystring: { readonly [name: string]: unknown };
  export default querystring;
}
declare module "unenv/node/punycode" {
  const punycode: { readonly [name: string]: unknown };
  export default punycode;
}
