/** An engine whose audit cannot be written rejects, and leaves nothing behind. */
import { createEngine } from "../../../../src/glovebox/index.ts";

try {
  await createEngine({ audit: process.argv[2] ?? "" });
} catch (error) {
  console.log(String(error));
}
