/** Redis begins what it says with a code, the system has its own in the midst; sentinels' errors quote either. */
const CODE = /(?:^|: )(?<ofRedis>[A-Z]{3,})\b|\b(?<ofSystem>E[A-Z]{3,})\b/;
/** What the client says where it has forgotten why: of sentinels, and of a cluster's nodes. */
const CLOSED = /Connection is closed/;
const LATE = /time(?:d )?out/i;

/** What an error of the client comes to, in a word: a code of the system, of TLS or of Redis, never what its message tells. */
export function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return "UNKNOWN";
  if ("code" in error && typeof error.code === "string") return error.code;
  // A cluster's client tells of all nodes at once, and keeps the reason with it.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return failureOf(error.lastNodeError);
  const { message } = error;
  const { ofRedis, ofSystem } = CODE.exec(message)?.groups ?? {};
  const code = ofRedis ?? ofSystem;
  if (code !== undefined) return code;
  if (LATE.test(message)) return "ETIMEDOUT";
  return CLOSED.test(message) ? "UNREACHABLE" : error.name;
}
