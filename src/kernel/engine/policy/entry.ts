import { parentPort, workerData } from "node:worker_threads";
import { isObject } from "../../base/json.ts";
import { readYamlText, YamlError } from "../../base/yaml-text.ts";
import type { PolicyText, TextPlace } from "./policy-thread.ts";

const PLACES_MAX = 5_000;
const DEPTH_MAX = 8;
const MISTAKES_MAX = 20;
const MESSAGE_MAX = 500;

/** Reads YAML or JSON: work of up to a second for 64 Ki characters. Its result can be sent to another thread. */
function readPolicyText(text: string): PolicyText {
  try {
    const { value, positionOf } = readYamlText(text);
    const isWhole = isObject(value) && Object.hasOwn(value, "policy") && !Object.hasOwn(value, "rules");
    const policy: unknown = isWhole ? value["policy"] : value;
    const above = isWhole ? ["policy"] : [];
    const places = new Map<string, TextPlace>();
    const open: (readonly [path: readonly string[], value: unknown])[] = [[[], policy]];
    for (const [path, one] of open) {
      if (places.size >= PLACES_MAX) break;
      places.set(JSON.stringify(path), positionOf([...above, ...path]));
      if (path.length >= DEPTH_MAX || typeof one !== "object" || one === null) continue;
      for (const [name, member] of Object.entries(one).slice(0, PLACES_MAX - open.length)) {
        open.push([[...path, name], member]);
      }
    }
    return { kind: "policy", policy, places };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const mistakes = error.problems
      .slice(0, MISTAKES_MAX)
      .map(({ message, position = null }) => ({ message: message.slice(0, MESSAGE_MAX), place: position }));
    return { kind: "mistakes", mistakes };
  }
}

// A value that cannot be sent to another thread, such as a symbol, is no policy either.
function read(): PolicyText {
  const text = readPolicyText(String(workerData));
  try {
    return structuredClone(text);
  } catch {
    return { kind: "mistakes", mistakes: [{ message: "it has values that a policy cannot have", place: null }] };
  }
}

parentPort?.postMessage(read());
