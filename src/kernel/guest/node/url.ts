import * as errors from "unenv/node/internal/url/errors";
import legacy from "unenv/node/url";
import { library, type NodeModule, shareGlobals } from "./inner/library.ts";

/** `node:url`: the functions of its first form, and the realm's own classes, which are made when they are read. */
export const shared: NodeModule = {
  ...legacy,
  fileURLToPathBuffer,
  domainToASCII,
  domainToUnicode,
};
shareGlobals(shared, ["URL", "URLSearchParams"]);

/** Only an error leads to its class. */
export const hidden = Object.values(errors);

function fileURLToPathBuffer(url: string | URL): unknown {
  const toPath = legacy["fileURLToPath"] as (url: string | URL) => string;
  return new TextEncoder().encode(toPath(url));
}

function domainToUnicode(domain: string): string {
  const { toUnicode } = library.module("punycode") as { toUnicode(domain: string): string };
  return toUnicode(domainToASCII(domain));
}

function domainToASCII(domain: string): string {
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return "";
  }
}
