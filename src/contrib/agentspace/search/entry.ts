import { parentPort } from "node:worker_threads";
import { type FromThread, RecordIndex, type ToThread } from "./record-index.ts";

const index = new RecordIndex();

parentPort?.on("message", (message: ToThread) => {
  const answer = (found: FromThread["found"]): void =>
    parentPort?.postMessage({ id: message.id, found } satisfies FromThread);
  switch (message.kind) {
    case "add":
      index.add(message.records);
      return answer([]);
    case "forget":
      return index.forget(message.revision);
    case "find":
      return answer(index.find(message.query));
  }
});
