import type { NodeModule } from "./inner/library.ts";

/** `node:tls`: the values that packages read when they are loaded. */
export const shared: NodeModule = {
  DEFAULT_MIN_VERSION: "TLSv1.2",
  DEFAULT_MAX_VERSION: "TLSv1.3",
  DEFAULT_CIPHERS: "",
  DEFAULT_ECDH_CURVE: "auto",
  CLIENT_RENEG_LIMIT: 3,
  CLIENT_RENEG_WINDOW: 600,
  rootCertificates: Object.freeze([]),
  getCiphers: () => [],
  checkServerIdentity: () => undefined,
};
