import type { Refused } from "./capabilities/capability.ts";

/** What was refused last: for whoever reads its message in the call's result. */
export interface LastRefusal extends Refused {
  readonly message: string;
  readonly capability: string;
}

/** What was asked, what is granted and how to grant it, where the call ended with that refusal. */
export function refusalOf(last: LastRefusal | null, message: string): Omit<LastRefusal, "message"> | null {
  if (last === null || last.message !== message) return null;
  const { capability, asked, granted, remedy } = last;
  return { capability, asked, granted, remedy };
}
