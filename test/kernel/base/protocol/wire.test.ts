import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeParts,
  decodeToHost,
  decodeToWorker,
  encodeToHost,
  encodeToWorker,
  ProtocolError,
} from "../../../../src/kernel/base/protocol/wire.ts";
import { LineReader } from "../../../../src/kernel/base/protocol/line-reader.ts";
import { LINES_PER_MESSAGE_MAX, type ToHost, type ToWorker } from "../../../../src/kernel/base/protocol/messages.ts";

const json = fc.json();
const run = fc.nat();
const amount = fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 });
const text = fc.string({ unit: "binary" });
const key = fc.stringMatching(/^[0-9]{1,8}$/);

const script = fc.record({
  key,
  name: fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/),
  version: text,
  isolation: fc.constantFrom("instance", "context", "isolate", "shared"),
  memoryMb: fc.nat(),
  config: json,
  text,
});

const terms = fc.record(
  {
    key,
    tenant: text,
    cpuMs: amount,
    outputBytes: amount,
    logBytes: amount,
    capabilityCalls: amount,
    capabilityBytes: amount,
    stream: fc.boolean(),
    ownIsolate: fc.boolean(),
    asksHost: fc.boolean(),
    tellsTurns: fc.boolean(),
  },
  { noNullPrototype: true },
);

const toWorker: fc.Arbitrary<ToWorker> = fc.oneof(
  fc
    .record({
      kind: fc.constant("run"),
      runs: fc.array(run, { minLength: 1 }),
      terms,
      hasLongIntegers: fc.boolean(),
      attempt: run,
      plan: fc.oneof(
        fc.constant(""),
        fc.array(fc.tuple(run, amount)).map((answers) => JSON.stringify(answers)),
      ),
      tickets: fc.oneof(fc.constant(""), json),
      calls: json,
    })
    .map((message) => ({ ...message, callNumber: message.runs[0], runs: message.runs.join(",") })),
  fc.record({
    kind: fc.constant("settle"),
    callNumber: run,
    attempt: run,
    step: run,
    ok: fc.boolean(),
    nowMs: amount,
    payload: json,
  }),
  fc.record({ kind: fc.constant("load"), script }),
  fc.record({ kind: fc.constant("unload"), key }),
  fc.record({ kind: fc.constant("cancel"), callNumber: run }),
  fc.record({ kind: fc.constant("inspect"), callNumber: run, cpuMs: amount, script }),
) as fc.Arbitrary<ToWorker>;

const ask = {
  kind: fc.constant("ask"),
  callNumber: run,
  attempt: run,
  step: run,
  nowMs: amount,
  deliveredCount: run,
  capability: text,
  method: text,
  args: json,
};

const toHost: fc.Arbitrary<ToHost> = fc.oneof(
  fc.record({
    kind: fc.constant("ran"),
    callNumber: run,
    cpuMs: amount,
    lastCpuMs: amount,
    heapBytes: run,
    outcomes: fc.array(json.map((each) => `+${each}\t`)).map((each) => each.join("")),
  }),
  fc.record({ kind: fc.constant("cut"), callNumber: run, cpuMs: amount }),
  fc.record({
    kind: fc.constant("done"),
    callNumber: run,
    ok: fc.boolean(),
    cpuMs: amount,
    heapBytes: run,
    dropped: run,
    deliveredCount: run,
    asked: fc.boolean(),
    turns: fc.constantFrom("", "1769860800000.5 0.200,1769860800007.0 0.104"),
    logs: fc.oneof(fc.constant(""), json),
    payload: json,
  }),
  fc.record(ask),
  fc.record({
    ...ask,
    reply: fc.record({
      callId: text,
      output: json,
      startMs: amount,
      wallMs: amount,
      cpuMs: amount,
      heapBytes: run,
      logs: fc.oneof(fc.constant(""), json),
      dropped: run,
      answeredMs: amount,
    }),
  }),
  fc.record({
    kind: fc.constant("log"),
    callNumber: run,
    lines: fc.array(json, { minLength: 1, maxLength: LINES_PER_MESSAGE_MAX }),
  }),
  fc.record({ kind: fc.constantFrom("progress", "inspected"), callNumber: run, payload: json }),
  fc.record({ kind: fc.constant("lost" as const), callNumber: run, cpuMs: run, payload: json }),
  fc.record({ kind: fc.constant("timed"), callNumber: run, attempt: run, step: run, nowMs: amount }),
  fc.record({ kind: fc.constant("late"), callNumber: run, attempt: run, fired: run, nowMs: amount }),
  fc.record({ kind: fc.constant("together"), callNumber: run, attempt: run, at: run, count: run }),
  fc.record({ kind: fc.constant("end"), callNumber: run, attempt: run, deliveredCount: run }),
  fc.record({ kind: fc.constant("stats"), payload: json }),
) as fc.Arbitrary<ToHost>;

/** Cuts a text into pieces at the given places. */
function pieces(whole: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).toSorted((a, b) => a - b), whole.length];
  return places.slice(1).map((end, index) => whole.slice(places[index], end));
}

describe("messages on the wire", () => {
  test("come out as they went in, from host to worker", () => {
    fc.assert(
      fc.property(toWorker, (message) => {
        expect(decodeToWorker(encodeToWorker(message).slice(0, -1))).toEqual(message);
      }),
    );
  });

  test("come out as they went in, from worker to host", () => {
    fc.assert(
      fc.property(toHost, (message) => {
        expect(decodeToHost(encodeToHost(message).slice(0, -1))).toEqual(message);
      }),
    );
  });

  test("take exactly one line each, whatever strings are in them", () => {
    fc.assert(
      fc.property(fc.oneof(toWorker.map(encodeToWorker), toHost.map(encodeToHost)), (line) => {
        expect(line.indexOf("\n")).toBe(line.length - 1);
      }),
    );
  });

  test("are refused with a ProtocolError where they are malformed, and nothing else is thrown", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          fc.tuple(fc.stringMatching(/^[rslucideakmfhgpxnt]$/), text).map((part) => part.join("\t")),
        ),
        (line) => {
          for (const decode of [decodeToHost, decodeToWorker]) {
            try {
              decode(line);
            } catch (error) {
              expect(error).toBeInstanceOf(ProtocolError);
            }
          }
        },
      ),
    );
  });
});

test("a message has at most as many log lines as a worker sends at once", () => {
  const withLines = (count: number) => decodeToHost(`g\t1\t${Array(count).fill("[]").join("\t")}`);
  expect(withLines(LINES_PER_MESSAGE_MAX)).toHaveProperty("lines.length", LINES_PER_MESSAGE_MAX);
  expect(() => withLines(LINES_PER_MESSAGE_MAX + 1)).toThrow(ProtocolError);
});

test("a message in parts is the message that it is as a whole, with its only output in parts", () => {
  const output = fc.record({
    kind: fc.constant("ran"),
    callNumber: run,
    cpuMs: amount,
    lastCpuMs: amount,
    heapBytes: amount,
    outcomes: json.map((one) => `+${one}\t`),
  } as const);
  let inParts = 0;
  fc.assert(
    fc.property(fc.oneof(output, toHost), fc.array(fc.nat()), (message, cuts) => {
      const line = encodeToHost(message).slice(0, -1);
      const read = decodeParts(pieces(line, cuts));
      if ("parts" in read) inParts++;
      expect(joined(read)).toEqual(decodeToHost(line));
    }),
  );
  expect(inParts).toBeGreaterThan(0);
});

function joined(message: ToHost): ToHost {
  if (!("parts" in message) || message.parts === undefined) return message;
  const { parts, ...rest } = message;
  const text = parts.join("");
  return rest.kind === "ran" ? { ...rest, outcomes: `+${text}\t` } : { ...rest, payload: text };
}

describe("lines", () => {
  test("are the same however the stream was cut", () => {
    const line = fc.string().filter((each) => !each.includes("\n"));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
        const reader = new LineReader(1_000_000);
        const seen: string[] = [];
        for (const piece of pieces(lines.map((each) => `${each}\n`).join(""), cuts)) {
          reader.push(piece, (each) => seen.push(each));
        }
        expect(seen).toEqual(lines);
      }),
    );
  });

  test("are whole where they are longer than what is joined at once, and short ones follow", () => {
    const reader = new LineReader(10_000_000);
    const long = "0123456789".repeat(150_000);
    const text = `first\n${long}\nlast\n${long}\n`;
    const seen: string[] = [];
    for (let at = 0; at < text.length; at += 65_536) {
      reader.push(text.slice(at, at + 65_536), (each) => seen.push(each));
    }
    expect(seen.map(({ length }) => length)).toEqual([5, long.length, 4, long.length]);
    expect(seen).toEqual(["first", long, "last", long]);
  });

  // A line feed in the read after a join made a line of the rest alone: a message of the executor was cut.
  test.each([
    ["a line feed", 0],
    ["one character and a line feed", 1],
    ["more and a line feed", 300_000],
  ])("are whole where %s follows what was joined", (_, rest) => {
    const reader = new LineReader(10_000_000);
    const long = "0123456789abcdef".repeat(32 * 1024);
    const seen: string[] = [];
    for (const piece of [long, `${"x".repeat(rest)}\nlast\n`]) reader.push(piece, (each) => seen.push(each));
    expect(seen.map(({ length }) => length)).toEqual([long.length + rest, 4]);
  });

  test("longer than the limit are a ProtocolError before they are whole", () => {
    const reader = new LineReader(100);
    expect(() => {
      for (let i = 0; i < 20; i++) reader.push("0123456789", () => undefined);
    }).toThrow(ProtocolError);
  });
});
