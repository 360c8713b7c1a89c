/** Says where Python's image is; makes it where its argument is `make`, and fails to where it is `fail`. */
import { rm } from "node:fs/promises";
import { preparePython } from "../../../src/runtimes/python/image.ts";
import { pythonPlace } from "../../../src/runtimes/python/place.ts";

const place = pythonPlace();
const [wish] = process.argv.slice(2);
if (wish === "fail" && place !== null) await rm(place.cache, { recursive: true });
const problem =
  wish === undefined
    ? null
    : await preparePython().then(
        () => null,
        (error: unknown) => (error instanceof Error ? error.message : "?"),
      );
process.stdout.write(JSON.stringify({ image: place?.image ?? null, problem }));
