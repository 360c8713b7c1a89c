import { fsPart } from "../deferred.ts";
import { envFace } from "./env.ts";
import type { FaceMaker } from "./face.ts";
import { fetchFace } from "./fetch.ts";
import { kvFace } from "./kv.ts";
import { secretsFace } from "./secrets.ts";
import { toolsFace } from "./tools.ts";

/** The capabilities that have a face of their own in `context.host`; all others are `host.<name>.<method>(args)`. */
export const FACES: ReadonlyMap<string, FaceMaker> = new Map<string, FaceMaker>([
  ["env", envFace],
  ["fetch", fetchFace],
  ["fs", (ask) => fsPart().fsFace(ask)],
  ["kv", kvFace],
  ["secrets", secretsFace],
  ["tools", toolsFace],
]);
