import type { FaceMaker } from "./face.ts";

/** `await host.fetch("https://example.org/")`: the same function as the global one. */
export const fetchFace: FaceMaker = (_ask, call) => call.fetch;
