import legacy from "unenv/node/url";

/** `node:url`: the functions of its first form, and the realm's own classes. */
export function open(): object {
  return { ...legacy, URL, URLSearchParams, fileURLToPathBuffer, domainToASCII, domainToUnicode: domainToASCII };
}

export const shared = { ...legacy };

function fileURLToPathBuffer(url: string | URL): unknown {
  const toPath = legacy["fileURLToPath"] as (url: string | URL) => string;
  return new TextEncoder().encode(toPath(url));
}

function domainToASCII(domain: string): string {
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return "";
  }
}
