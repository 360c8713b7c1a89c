import type { NodeModule } from "./inner/library.ts";

/** `node:net`: the functions that need no socket. */
const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

function isIPv4(text: unknown): boolean {
  return V4.test(String(text as string));
}

function isIPv6(text: unknown): boolean {
  const [address = ""] = String(text as string).split("%");
  if (!/^[\da-fA-F:.]+$/.test(address)) return false;
  try {
    return new URL(`http://[${address}]`).hostname !== "";
  } catch {
    return false;
  }
}

export const shared: NodeModule = {
  isIP: (text: unknown) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0),
  isIPv4,
  isIPv6,
  getDefaultAutoSelectFamily: () => true,
  setDefaultAutoSelectFamily: () => undefined,
  getDefaultAutoSelectFamilyAttemptTimeout: () => 250,
  setDefaultAutoSelectFamilyAttemptTimeout: () => undefined,
};
