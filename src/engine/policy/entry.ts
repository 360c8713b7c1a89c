import { parentPort, workerData } from "node:worker_threads";
import { type PolicyText, readPolicyText } from "./policy-text.ts";

// A value that no other thread can have, such as a symbol, is no policy either.
function read(): PolicyText {
  const text = readPolicyText(String(workerData));
  try {
    return structuredClone(text);
  } catch {
    return { kind: "mistakes", mistakes: [{ message: "it has values that a policy cannot have", place: null }] };
  }
}

parentPort?.postMessage(read());
