import querystring from "unenv/node/querystring";

/** `node:querystring`. */
export const shared = { ...querystring };
