import type { FaceMaker } from "./face.ts";

/** `await host.env.get("REGION")`: a variable of the host's environment, or `null` where it is not set. */
export const envFace: FaceMaker = (ask) => ({ get: (name: string) => ask("env", "get", { name: `${name}` }) });
