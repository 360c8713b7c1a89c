import punycode from "unenv/node/punycode";

/** `node:punycode`. */
export const shared = { ...punycode };
