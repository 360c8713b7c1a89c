import type { Level } from "./run-in-tool.ts";

/**
 * Areas of the suite whose globals a tool has, with their folders and files. Left out are areas of globals that a tool
 * does not have, such as compression and most of WebCryptoAPI, and tests that need the suite's server.
 */
export const AREAS: Readonly<Record<string, readonly string[]>> = {
  url: ["url"],
  encoding: ["encoding"],
  streams: ["streams"],
  fetch: [
    "fetch/api/abort",
    "fetch/api/basic/historical.any.js",
    "fetch/api/basic/scheme-about.any.js",
    "fetch/api/basic/scheme-data.any.js",
    "fetch/api/basic/stream-safe-creation.any.js",
    "fetch/api/body",
    "fetch/api/headers",
    "fetch/api/request",
    "fetch/api/response",
    "fetch/data-urls",
    "xhr/formdata",
  ],
  FileAPI: ["FileAPI/blob", "FileAPI/file", "FileAPI/idlharness.any.js"],
  dom: ["dom/abort", "dom/events", "webidl"],
  html: ["html/webappapis"],
  WebCryptoAPI: ["WebCryptoAPI/digest", "WebCryptoAPI/getRandomValues.any.js", "WebCryptoAPI/randomUUID.https.any.js"],
  "console and time": ["console", "hr-time"],
};

/** Files that change built-ins, or define globals other than by `self`: a frozen realm has no place for either. */
const NEED_OWN_REALM: readonly RegExp[] = [
  /\/idlharness\./,
  /\/patched-global\./,
  /^console\/console-is-a-namespace\./,
  /^fetch\/api\/basic\/stream-safe-creation\./,
  /^fetch\/api\/headers\/headers-basic\./,
  /^fetch\/api\/request\/request-init-priority\./,
  /^html\/webappapis\/structured-clone\//,
  /^streams\/readable-streams\/async-iterator\./,
  /^streams\/writable-streams\/general\./,
  /^url\/urlsearchparams-constructor\./,
  /^webidl\//,
];

/** The level at which a program runs as a tool: the default one, unless it needs a realm that it may change. */
export function levelOf(program: string): Level {
  return NEED_OWN_REALM.some((pattern) => pattern.test(program)) ? "context" : "instance";
}
