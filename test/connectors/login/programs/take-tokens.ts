import { setTimeout as sleep } from "node:timers/promises";
import { closeAll, openLogins } from "../opened.ts";
import type { ConnectorAuth } from "../../../../src/connectors/tool/auth-options.ts";

/** What the program does: asks for tokens, and prints each. */
export interface TakenTokens {
  readonly issuer: string;
  readonly auth: ConnectorAuth;
  readonly secrets: { readonly [name: string]: string };
  readonly file: string;
  /** By how much its clock is ahead. */
  readonly skewMs: number;
  /** Pauses before each. */
  readonly pausesMs: readonly number[];
}

const { issuer, auth, secrets, file, skewMs, pausesMs } = JSON.parse(process.argv[2] ?? "{}") as TakenTokens;
const { now } = Date;
Date.now = () => now() + skewMs;
const { logins } = openLogins({ issuer }, auth, secrets, file);
for (const pauseMs of pausesMs) {
  await sleep(pauseMs);
  try {
    console.log((await logins.token("")).value);
  } catch (error) {
    console.log(`failed: ${String(error)}`);
  }
}
await closeAll();
