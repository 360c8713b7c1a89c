import { createHmac } from "node:crypto";
import { createEngine } from "glovebox";

const policy = { rules: [{ allow: { tools: ["order"], pause: true } }] } as const;
const signatureOf = (id: string) => createHmac("sha256", "of the shop and nobody else").update(id).digest("hex");

/** Calls that wait are in a file, which all processes share. */
export const openEngine = (folder: string) =>
  createEngine({ tools: ["./tools"], workers: 1, policy, calls: { path: `${folder}/calls.sqlite` } });

/** Where the bank calls back about a call. Nobody else can make the address. */
export const callbackPath = (id: string) => `/paid/${id}/${signatureOf(id)}`;
