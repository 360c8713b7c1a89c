import { type FaceMaker, openFace } from "./face.ts";

/**
 * `host.secrets.API_KEY`: a placeholder. The host puts the value in its place, in requests to the origins that the
 * secret belongs to; no tool ever sees it.
 */
export const secretsFace: FaceMaker = () => openFace((name) => `glovebox.secret.${name}.`);
