import type { NodeModule } from "./inner/library.ts";

/**
 * Node's tables of constants, and the modules of which packages read values when they are loaded: `node:constants`,
 * `node:http2` and `node:tls`.
 */

export const { os, fs, zlib, codes, crypto, http2, METHODS, STATUS_CODES } = NODE_CONSTANTS;
const groups = ["errno", "signals", "priority", "dlopen"].map((group) => os[group] as object | undefined);

export const modules: { readonly [name: string]: NodeModule } = {
  constants: Object.assign({}, ...groups, fs, crypto) as NodeModule,
  http2: { constants: http2, sensitiveHeaders: Symbol("sensitiveHeaders") },
  tls: {
    DEFAULT_MIN_VERSION: "TLSv1.2",
    DEFAULT_MAX_VERSION: "TLSv1.3",
    DEFAULT_CIPHERS: "",
    DEFAULT_ECDH_CURVE: "auto",
    CLIENT_RENEG_LIMIT: 3,
    CLIENT_RENEG_WINDOW: 600,
    rootCertificates: Object.freeze([]),
    getCiphers: () => [],
    checkServerIdentity: () => undefined,
  },
};
