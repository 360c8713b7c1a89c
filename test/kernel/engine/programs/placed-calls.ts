import { open as openRedis } from "../../../../src/fleet/kept-calls/redis-kept-calls.ts";
import type { CallRoom } from "../../../../src/kernel/store/calls/call-tables.ts";
import type {
  DurableAnswer,
  DurableStep,
  TakeDurable,
} from "../../../../src/kernel/store/calls/durable/durable-step.ts";
import { DEFAULT_KEYS } from "../../../../src/kernel/store/calls/ledger.ts";
import type { CallBackend } from "../../../../src/kernel/store/calls/thread/call-backend.ts";
import { FileCalls } from "../../../../src/kernel/store/calls/thread/file-calls.ts";
import { StepLine } from "../../../../src/kernel/store/calls/thread/step-line.ts";
import type { placeOf } from "./calls-place.ts";

/** The store of calls of a place, all steps of which go `through` a test's own hands. */
export async function openPlace(
  place: ReturnType<typeof placeOf>,
  room: CallRoom,
  through: (take: TakeDurable) => TakeDurable,
): Promise<CallBackend> {
  const { path } = place;
  const file = path === undefined ? null : await FileCalls.open({ ...room, path, keys: DEFAULT_KEYS }, () => undefined);
  const calls: CallBackend = file ?? (await openRedis(place, room));
  const take = file === null ? calls.takeDurable?.bind(calls) : takeIn(file);
  if (take === undefined) throw new Error("calls cannot wait in this place");
  return {
    get bytes() {
      return calls.bytes;
    },
    patienceMs: calls.patienceMs,
    add: (rows) => calls.add(rows),
    list: (query) => calls.list(query),
    get: (id, tenant) => calls.get(id, tenant),
    run: (id, tenant) => calls.run(id, tenant),
    detail: (at) => calls.detail(at),
    sweep: (nowMs) => calls.sweep(nowMs),
    watch: (tell) => calls.watch(tell),
    takeDurable: through(take),
    close: () => calls.close(),
  };
}

/** Takes steps in a file as the store's thread does. */
function takeIn({ file }: FileCalls): TakeDurable {
  const asked = new Map<number, PromiseWithResolvers<DurableAnswer>>();
  let last = 0;
  const line = new StepLine<DurableStep, DurableAnswer>(
    (steps) => file.durable((tables) => tables.take(steps)),
    (answers) => {
      for (const [ask, answer, failure] of answers) {
        if (answer === null) asked.get(ask)?.reject(new Error(failure ?? ""));
        else asked.get(ask)?.resolve(answer);
        asked.delete(ask);
      }
    },
  );
  return (step) => {
    const answer = Promise.withResolvers<DurableAnswer>();
    asked.set(++last, answer);
    line.take([[last, step]]);
    return answer.promise;
  };
}
