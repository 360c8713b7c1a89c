import { queryObjects } from "node:v8";

class Nothing {}

/** Has V8 collect this thread's garbage: it does before it counts objects. The flag for that would be all isolates'. */
export function collectGarbage(): void {
  queryObjects(Nothing, { format: "count" });
}
