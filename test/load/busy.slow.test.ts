import { expect, test } from "vitest";
import { byLength } from "../length.ts";
import { measureBusy } from "./busy.ts";

const LOOPS = [8];
const PER_SECOND = 20;

test("no innocent call is cut where a service shares two processors with eight endless loops", async () => {
  const [line] = await measureBusy(LOOPS, PER_SECOND, byLength(5_000, 60_000));
  expect(line?.calls).toBeGreaterThan(50);
  expect(line?.wrong).toEqual({});
});
