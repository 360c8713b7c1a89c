/** An engine whose tool cannot be loaded rejects, and leaves nothing behind. */
import { createEngine, GloveboxError } from "../../../../src/glovebox/index.ts";

try {
  await createEngine({ tools: [{ name: "broken", description: "b", source: "export default (" }] });
} catch (error) {
  console.log(error instanceof GloveboxError ? error.code : error);
}
