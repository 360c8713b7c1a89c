/** Says where Python's image is; makes it where its argument is `make`, after its folder went (`clear`), or where it cannot be (`fail`). */
import { rm, writeFile } from "node:fs/promises";
import { preparePython } from "../../../../src/python/runtime/image.ts";
import { pythonPlace } from "../../../../src/python/runtime/place.ts";

const place = pythonPlace();
const [wish] = process.argv.slice(2);
if (place !== null && (wish === "fail" || wish === "clear")) await rm(place.cache, { recursive: true });
if (place !== null && wish === "fail") await writeFile(place.cache, "");
const problem =
  wish === undefined
    ? null
    : await preparePython().then(
        () => null,
        (error: unknown) => (error instanceof Error ? error.message : "?"),
      );
process.stdout.write(JSON.stringify({ image: place?.image ?? null, problem }));
