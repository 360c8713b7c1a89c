import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type {
  JobData,
  MachineInfo,
  MachineMessage,
  Resumption,
  ServerMessage,
} from "../../../src/fleet/wire/messages.ts";
import { readInfo } from "../../../src/fleet/wire/members.ts";
import { readJobData } from "../../../src/fleet/wire/read-job.ts";
import {
  readAnswer,
  readEnvelope,
  readMachineMessage,
  readPlan,
  readServerMessage,
} from "../../../src/fleet/wire/read-message.ts";
import { isObject, NESTING_MAX } from "../../../src/kernel/base/json.ts";
import type { CallReply } from "../../../src/kernel/executor/executor.ts";
import { ProtocolError } from "../../../src/kernel/base/protocol/wire.ts";

const KEY = "0123456789abcdef".repeat(4);
const SERVER = "server-0123456789abcdef";
const MACHINE = "machine-0123456789abcdef";
const TEXT = { hash: KEY, bytes: 12, place: "redis" } as const;

const reply: CallReply = {
  outcome: { ok: true, json: "42" },
  cpuMs: 0.25,
  waitedMs: 0,
  wallMs: 1.5,
  heapBytes: 1_000,
  attempts: 1,
  logs: "",
  dropped: 0,
  deliveredCount: 0,
};
const ofMachines: readonly MachineMessage[] = [
  { kind: "taken", job: `${SERVER}-1`, start: 1 },
  {
    kind: "ask",
    callNumber: 1,
    start: 1,
    job: `${SERVER}-1`,
    step: 1,
    attempt: 1,
    nowMs: 1.5,
    deliveredCount: 0,
    capability: "kv",
    method: "get",
    args: "[]",
  },
  { kind: "log", callNumber: 1, start: 1, at: 0, lines: ['["log","a"]'], isFull: true },
  { kind: "progress", callNumber: 1, start: 1, payload: "[1,null,null]" },
  { kind: "timed", callNumber: 1, start: 1, step: 1, nowMs: 1 },
  { kind: "late", callNumber: 1, start: 1, fired: 1, nowMs: 1 },
  { kind: "together", callNumber: 1, start: 1, at: 0, count: 2 },
  { kind: "restart", callNumber: 1, start: 1, attempts: 1 },
  { kind: "idle", callNumber: 1, start: 1, asked: 2, delivered: 1, dueInMs: null, usedMs: 1.5 },
  { kind: "done", callNumber: 1, start: 1, reply, refusedForMs: 10 },
  { kind: "done", callNumber: 1, start: 1, reply, isWorking: true },
  { kind: "spent", callNumber: 1, start: 1, cpuMs: 12.5 },
  { kind: "need", script: KEY, what: "config", publicKey: "MCow" },
];
const resumption: Resumption = {
  callNumber: 1,
  attempts: 1,
  asked: 1,
  plan: '{"asked":1,"responses":[[1,2.5]],"late":[],"together":[]}',
};
const ofServers: readonly ServerMessage[] = [
  { kind: "resume", job: `${SERVER}-1`, start: 2, calls: [resumption] },
  { kind: "answer", callNumber: 1, step: 1, attempt: 1, answer: "{}" },
  { kind: "cancel", callNumber: 1, job: `${SERVER}-1`, start: 1 },
  { kind: "watch", callNumber: 1, job: `${SERVER}-1`, start: 1 },
  { kind: "logged", callNumber: 1, job: `${SERVER}-1`, start: 1 },
  { kind: "have", script: KEY, text: TEXT, config: "sealed" },
];
const job: JobData = {
  v: 1,
  server: SERVER,
  scripts: [
    {
      key: KEY,
      name: "a",
      version: "1",
      runtime: "javascript",
      isolation: "instance",
      memoryMb: 64,
      contract: null,
      text: TEXT,
      checks: null,
      hasConfig: false,
      registrant: "key:a",
      digest: "d",
    },
  ],
  limits: [
    {
      cpuMs: 1,
      outputBytes: 1,
      logBytes: 0,
      capabilityCalls: 0,
      capabilityBytes: 0,
      wallMs: 1,
      queueMs: 1,
    },
  ],
  calls: [
    {
      callNumber: 1,
      script: 0,
      limits: 0,
      tenant: "",
      callId: "c",
      args: '{"a":1}',
      command: "c",
      seed: KEY,
      nowMs: 1,
      stream: false,
    },
  ],
  isInspection: false,
};
const info: MachineInfo = {
  id: MACHINE,
  protocols: [1],
  slots: 8,
  busySlots: 0,
  isReady: true,
  isDraining: false,
  isolates: { active: 0, warm: 0, blank: 1 },
  starts: { blank: 1 },
  heapBytes: { a: 1 },
  rssBytes: 1,
  quarantined: ["a"],
  isSandboxed: true,
  host: "worker-1",
  beat: 1,
};

/** What stands in the place of any field, and is not one of the permitted values. */
const WRONG: readonly unknown[] = [
  undefined,
  null,
  -1,
  1e300,
  { a: "x" },
  [[]],
  JSON.parse('{"__proto__":{"polluted":true}}'),
];
/** Fields that hold objects of any keys. */
const COUNTED = new Set(["starts", "heapBytes"]);

/** A value with one of its fields, at any depth, replaced by each of what is wrong; and without that field. */
function* broken(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) for (const other of broken(item)) yield value.with(at, other);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, field] of Object.entries(value)) {
    for (const wrong of WRONG) yield { ...value, [name]: wrong };
    for (const other of broken(field)) if (!COUNTED.has(name)) yield { ...value, [name]: other };
  }
}

const OPTIONAL = new Set([
  "deliveredCount",
  "isFull",
  "refusedForMs",
  "isWorking",
  "command",
  "isInspection",
  "text",
  "config",
  "unsaid",
  "host",
  "beat",
  "registrant",
  "digest",
  "usedMs",
]);
/** What may be null, and amounts that may be as large as they like. */
const MAY_BE: Readonly<Record<string, readonly unknown[]>> = { contract: [null] };
for (const name of Object.keys(job.limits[0] ?? {})) Object.assign(MAY_BE, { [name]: [1e300] });

function isAllowed(honest: unknown, other: unknown): boolean {
  if (Array.isArray(honest) && Array.isArray(other)) {
    return honest.length === other.length && honest.every((item, at) => isAllowed(item, other[at]));
  }
  if (!isObject(honest) || !isObject(other)) return honest === other;
  return Object.entries(honest).every(([name, field]) => {
    const is = other[name];
    if (MAY_BE[name]?.includes(is) === true) return true;
    return (is === undefined && OPTIONAL.has(name)) || isAllowed(field, is);
  });
}

const READERS: readonly [string, unknown, (value: unknown) => unknown][] = [
  ...ofMachines.map((message) => [`${message.kind} of a machine`, message, readMachineMessage] as const),
  ...ofServers.map((message) => [`${message.kind} of a server`, message, readServerMessage] as const),
  ["a job", job, (value: unknown) => readJobData(JSON.stringify(value), [1])] as const,
].map(([name, honest, read]) => [name, honest, read]);

describe.each(READERS)("%s", (_name, honest, read) => {
  test("is read as it was sent", () => {
    expect(read(honest)).toEqual(honest);
  });

  test("is refused with any field that is invalid", () => {
    const taken = [...broken(honest)].filter((other) => {
      try {
        read(other);
        return !isAllowed(honest, JSON.parse(JSON.stringify(other)));
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        return false;
      }
    });
    expect(taken).toEqual([]);
  });
});

test("what is anything at all is refused in words, and never with another error", () => {
  const ofText = [
    readAnswer,
    readPlan,
    (text: string) => readEnvelope(text, [1]),
    (text: string) => readJobData(text, [1]),
  ];
  const readers = [
    readMachineMessage,
    readServerMessage,
    ...ofText.map((read) => (value: unknown) => read(JSON.stringify(value))),
  ];
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(...readers), (value, read) => {
      try {
        read(value);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    }),
  );
});

test("a machine is what its key says, and nothing else", () => {
  expect(readInfo(JSON.stringify(info), MACHINE)).toEqual(info);
  expect(readInfo(JSON.stringify(info), "machine-ffffffffffffffff")).toBeNull();
  for (const other of broken(info)) {
    const text = JSON.stringify(other);
    expect(readInfo(text, MACHINE) === null || isAllowed(info, JSON.parse(text))).toBe(true);
  }
  for (const host of ["a\nb", "\u001b[2J", "a".repeat(256)]) {
    expect(readInfo(JSON.stringify({ ...info, host }), MACHINE)).toBeNull();
  }
});

test("an envelope is refused that has another sender than members have, another protocol, or no list", () => {
  const letter = { v: 1, from: SERVER, seq: 1, messages: [{}] };
  expect(readEnvelope(JSON.stringify(letter), [2, 1])).toEqual(letter);
  for (const other of [{ v: 3 }, { from: "somebody" }, { from: `${SERVER}:x` }, { seq: -1 }, { messages: {} }]) {
    expect(() => readEnvelope(JSON.stringify({ ...letter, ...other }), [2, 1])).toThrow(ProtocolError);
  }
  expect(() => readEnvelope(JSON.stringify({ ...letter, v: 3 }), [2, 1])).toThrow(
    "an envelope of protocol 3; this member understands 2, 1",
  );
});

test("what is nested too deep, or of too many values, is never parsed", () => {
  const deep = "[".repeat(NESTING_MAX * 2) + "]".repeat(NESTING_MAX * 2);
  const wide = `[${"0,".repeat(2_000_000)}0]`;
  for (const text of [deep, wide]) {
    expect(() => readEnvelope(text, [1])).toThrow(/envelope that is (?:nested|made)/);
    expect(() => readJobData(text, [1])).toThrow(/job that is (?:nested|made)/);
    expect(() => readAnswer(text)).toThrow(/answer that is (?:nested|made)/);
  }
});

test("arguments that are no JSON, or would end the line on which they go on, are no call's", () => {
  const read = (args: string): unknown => {
    const calls = job.calls.map((call) => ({ ...call, args }));
    return readJobData(JSON.stringify({ ...job, calls }), [1]);
  };
  expect(read("[1]")).toMatchObject({ calls: [{ args: "[1]" }] });
  for (const args of ["", "1],[2", '{"a":\n1}', "1\t2", "[".repeat(3_000)])
    expect(() => read(args)).toThrow(ProtocolError);
});

test("calls of a job are each a call of their own, of tools and limits that the job has", () => {
  const [call] = job.calls;
  expect(() => readJobData(JSON.stringify({ ...job, calls: [call, call] }), [1])).toThrow(ProtocolError);
  for (const other of [{ script: 1 }, { limits: 1 }]) {
    expect(() => readJobData(JSON.stringify({ ...job, calls: [{ ...call, ...other }] }), [1])).toThrow(ProtocolError);
  }
});

test("answers and plans are those of an executor", () => {
  const failure = { code: "capability_denied", message: "no" };
  for (const answer of [
    { kind: "value", nowMs: 1, json: "{}" },
    { kind: "failure", nowMs: 1, failure },
    { kind: "diverged", message: "no" },
  ]) {
    expect(readAnswer(JSON.stringify(answer))).toEqual(answer);
    for (const other of broken(answer)) expect(() => readAnswer(JSON.stringify(other))).toThrow(ProtocolError);
  }
  expect(() => readAnswer(JSON.stringify({ kind: "failure", nowMs: 1, failure: { ...failure, code: "x" } }))).toThrow();
  expect(readPlan("")).toEqual({ asked: 0, responses: [], late: [], together: [] });
  const plan = { asked: 2, responses: [[0, 1.5]], late: [[3, 500]], together: [[0, 2]] };
  expect(readPlan(JSON.stringify(plan))).toEqual(plan);
  for (const times of [{}, [[0]], [[0, 1, 2]], [["0", 1]], [[-1, 1]]]) {
    expect(() => readPlan(JSON.stringify({ ...plan, responses: times }))).toThrow(ProtocolError);
    expect(() => readPlan(JSON.stringify({ ...plan, late: times }))).toThrow(ProtocolError);
    expect(() => readPlan(JSON.stringify({ ...plan, together: times }))).toThrow(ProtocolError);
  }
  for (const text of ["{}", "[]", '{"asked":-1,"responses":[],"late":[],"together":[]}', "no"])
    expect(() => readPlan(text)).toThrow(ProtocolError);
});
