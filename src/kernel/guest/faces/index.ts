import { fsPart } from "../deferred.ts";
import { type FaceMaker, openFace } from "./face.ts";
import { kvFace } from "./kv.ts";
import { toolsFace } from "./tools.ts";

/** `await host.fetch("https://example.org/")`: the global function, and the call's own where calls share a module. */
const fetchFace: FaceMaker = (_ask, call) => call.fetch;

/** `await host.env.get("REGION")`: a variable of the host's environment, or `null` if it is not set. */
const envFace: FaceMaker = (ask) => ({ get: (name: string) => ask("env", "get", { name: `${name}` }) });

/**
 * `host.secrets.API_KEY`: a placeholder. The host replaces it by the value where the secret is bound; tools never see
 * the value.
 */
const secretsFace: FaceMaker = () => openFace((name) => `glovebox.secret.${name}.`);

/** Capabilities with their own face in `context.host`; all others are `host.<name>.<method>(args)`. */
export const FACES: ReadonlyMap<string, FaceMaker> = new Map<string, FaceMaker>([
  ["env", envFace],
  ["fetch", fetchFace],
  ["fs", (ask) => fsPart().fsFace(ask)],
  ["kv", kvFace],
  ["secrets", secretsFace],
  ["tools", toolsFace],
]);
