import type { Decision } from "../../../../src/kernel/store/calls/durable/durable-call.ts";

/* What a killed process leaves of a call, by what was under way: a row for each point at which a process is really killed. */

/** Where a call is when its process is killed. */
type Point =
  /** An effect is announced, and has not begun. */
  | "announced"
  /** An effect has happened, and its answer is not stored. */
  | "done"
  /** A read is under way. */
  | "reading"
  /** The call has nothing left to do but wait, and that is not stored. */
  | "pausing";

interface Doubt {
  /** Capability and method. */
  readonly asked: string;
  readonly decision: Decision;
}

export interface LostRow {
  /** Id of the call, and name of all that it does outside. */
  readonly name: string;
  readonly title: string;
  /** What the tool `order` asks for between two effects, or the tool that is called itself. */
  readonly asks: string;
  readonly tool?: string;
  readonly point: Point;
  /** Number of the effect that is under way, and of its step. Default 2. */
  readonly nth?: number;
  /** A call below it that is held in its place, by its tool. */
  readonly below?: string;
  /** It is stored before it begins unless this says so. */
  readonly isPlain?: true;
  /** It needs a jail of the operating system. */
  readonly inJail?: true;
  /** All that is seen outside, in its order: of a name that an effect has, its number among those of the call. */
  readonly seen: readonly string[];
  /** What is in doubt, and what a person says of it. Without it the call goes on by itself. */
  readonly doubt?: Doubt;
  /** The answer of what was under way, as the call hears it in the end. Of a call that is not there any more: nothing. */
  readonly output?: unknown;
}

const did = (asked: string, answer: unknown): Doubt => ({
  asked,
  decision: { decision: "happened", answer },
});
const didNot = (asked: string): Doubt => ({ asked, decision: { decision: "did_not_happen" } });

const ONCE = ["POST first", "POST asked", "POST last"];
const AGAIN = ["POST first", "POST asked", "POST asked", "POST last"];
const READ_AGAIN = ["POST first", "GET asked", "GET asked", "POST last"];
/** Nothing but the two effects beside it is seen at the server. */
const BESIDE = ["POST first", "POST last"];
/** By the same name, or key. */
const NAMED_AGAIN = ["POST first", "POST asked #1", "POST asked #1", "POST last"];
const ENTRY = { value: "a", version: 1, expiresAt: null };

export const LOST_ROWS: readonly LostRow[] = [
  {
    name: "get",
    title: "while it reads with fetch reads again",
    asks: "get",
    point: "reading",
    seen: READ_AGAIN,
    output: "GET get",
  },
  {
    name: "read",
    title: "in a read of an embedder's capability reads again",
    asks: "read",
    point: "reading",
    seen: READ_AGAIN,
    output: "GET read",
  },
  {
    name: "post-before",
    title: "before a server has taken its POST is in doubt, and sends it once when a person says so",
    asks: "post",
    point: "announced",
    seen: ONCE,
    doubt: didNot("fetch.request"),
    output: [200, "POST post-before"],
  },
  {
    name: "post-after",
    title: "after a server has taken its POST is in doubt, and goes on with the response that a person gives",
    asks: "post",
    point: "done",
    seen: ONCE,
    output: [201, "told"],
    doubt: did("fetch.request", { status: 201, body: "told" }),
  },
  {
    name: "add-before",
    title: "before an effect of an embedder's capability is in doubt, and does it once when a person says so",
    asks: "add",
    point: "announced",
    seen: ONCE,
    doubt: didNot("ledger.add"),
    output: "POST add-before",
  },
  {
    name: "add-after",
    title: "after an effect of an embedder's capability is in doubt, and goes on with the answer that a person gives",
    asks: "add",
    point: "done",
    seen: ONCE,
    doubt: did("ledger.add", "told"),
    output: "told",
  },
  {
    name: "send",
    title: "after a method with isRepeatable asks for it again by the same name",
    asks: "send",
    point: "done",
    seen: NAMED_AGAIN,
    output: "POST send",
  },
  {
    name: "set-before",
    title: "before it wrote to kv writes once",
    asks: "set",
    point: "announced",
    seen: BESIDE,
    output: [1, ENTRY],
  },
  {
    name: "set-after",
    title: "after it wrote to kv has written once",
    asks: "set",
    point: "done",
    seen: BESIDE,
    output: [1, ENTRY],
  },
  {
    name: "delete-before",
    title: "before it deleted from kv deletes once",
    asks: "delete",
    point: "announced",
    nth: 3,
    seen: BESIDE,
    output: [1, true, null],
  },
  {
    name: "delete-after",
    title: "after it deleted from kv hears that there was an entry",
    asks: "delete",
    point: "done",
    nth: 3,
    seen: BESIDE,
    output: [1, true, null],
  },
  {
    name: "idempotent",
    title: "in a call of an idempotent tool calls it again",
    asks: "again",
    point: "done",
    seen: AGAIN,
    output: "POST idempotent",
  },
  {
    name: "read-only",
    title: "in a call of a tool that only reads calls it again",
    asks: "looks",
    point: "done",
    seen: AGAIN,
    output: "POST read-only",
  },
  {
    name: "pure",
    title: "in a call of a tool without capabilities calls it again, as it is now",
    asks: "pure",
    point: "done",
    seen: BESIDE,
    output: "new",
  },
  {
    name: "second-before",
    title: "before a call of a tool with effects is in doubt, and calls it once when a person says so",
    asks: "second",
    point: "announced",
    seen: ONCE,
    doubt: didNot("tools.call"),
    output: "POST second-before",
  },
  {
    name: "second-after",
    title: "in a call of a tool with effects is in doubt, and goes on with the output that a person gives",
    asks: "second",
    point: "done",
    seen: ONCE,
    doubt: did("tools.call", "told"),
    output: "told",
  },
  {
    name: "keyed",
    title: "in a connector's operation with an Idempotency-Key sends it again with the same key",
    asks: "crm.create_order",
    point: "done",
    seen: NAMED_AGAIN,
    output: { did: "POST keyed" },
  },
  {
    name: "keyed-itself",
    title: "and which is such an operation itself is sent again with the same key",
    asks: "",
    tool: "crm.create_order",
    point: "done",
    nth: 1,
    output: { did: "POST keyed-itself" },
    seen: ["POST asked #1", "POST asked #1"],
  },
  {
    name: "put",
    title: "in a PUT of a connector sends it again",
    asks: "crm.put_order",
    point: "done",
    output: { did: "PUT put" },
    seen: ["POST first", "PUT asked", "PUT asked", "POST last"],
  },
  {
    name: "delete",
    title: "in a DELETE of a connector sends it again",
    asks: "crm.delete_order",
    point: "done",
    output: { did: "DELETE delete" },
    seen: ["POST first", "DELETE asked", "DELETE asked", "POST last"],
  },
  {
    name: "unkeyed",
    title: "in a connector's operation without a key is in doubt about that",
    asks: "crm.send_mail",
    point: "done",
    seen: ["POST first", "POST mailed", "POST last"],
    doubt: did("tools.call", { id: 7 }),
    output: { id: 7 },
  },
  {
    name: "unkeyed-itself",
    title: "and which is such an operation itself is in doubt, and is sent once when a person says so",
    asks: "",
    tool: "crm.send_mail",
    point: "announced",
    nth: 1,
    seen: ["POST mailed"],
    doubt: didNot("connector.request"),
    output: { did: "POST unkeyed-itself" },
  },
  {
    name: "record",
    title: "while a call below it runs that has waited goes on with the end of that",
    asks: "resumes",
    below: "resumes",
    point: "done",
    nth: 3,
    output: "POST record",
    seen: ["POST first", "POST begun", "POST asked #1", "POST asked #1", "POST last"],
  },
  {
    name: "record-before",
    title: "while it waits for a call below it, which is kept, and that is not stored, waits for the end of that",
    asks: "waits",
    point: "pausing",
    seen: ["POST first", "POST begun", "POST asked #1", "POST last"],
    output: "POST record-before",
  },
  {
    name: "exec",
    title: "after a command is in doubt, and goes on with the result that a person gives",
    asks: "exec",
    point: "done",
    inJail: true,
    seen: [...BESIDE, "a line of a file"],
    doubt: did("exec.run", { exitCode: 0, stdout: "told", stderr: "" }),
    output: "told",
  },
  {
    name: "exec-before",
    title: "before a command is in doubt, and runs it once when a person says so",
    asks: "exec",
    point: "announced",
    inJail: true,
    seen: [...BESIDE, "a line of a file"],
    doubt: didNot("exec.run"),
    output: "ran",
  },
  {
    name: "write",
    title: "after it wrote to a file is in doubt, and goes on when a person says that it has",
    asks: "write",
    point: "done",
    seen: [...BESIDE, "a line of a file"],
    doubt: did("fs.writeFile", null),
    output: "written",
  },
  {
    name: "write-before",
    title: "before it wrote to a file is in doubt, and writes once when a person says so",
    asks: "write",
    point: "announced",
    seen: [...BESIDE, "a line of a file"],
    doubt: didNot("fs.writeFile"),
    output: "written",
  },
  {
    name: "native",
    title: "and which is a binary is in doubt, and ends with the output that a person gives",
    asks: "",
    tool: "binary",
    point: "announced",
    nth: 1,
    inJail: true,
    seen: [],
    doubt: did("native.run", { id: 7 }),
    output: { id: 7 },
  },
  {
    name: "pausing",
    title: "before its pause is stored runs on to where it waits, with no effect twice",
    asks: "signal",
    point: "pausing",
    seen: BESIDE,
    output: "came",
  },
  {
    name: "plain",
    title: "before its first pause is stored is gone where it was not to be kept before",
    asks: "signal",
    point: "pausing",
    isPlain: true,
    seen: ["POST first"],
  },
];

/** A process that only stops: another one has taken its calls over by the time it goes on. */
export const STOPPED_ROWS: readonly LostRow[] = [
  {
    name: "stopped",
    title: "does nothing more where it was only stopped as it read",
    asks: "get",
    point: "reading",
    seen: READ_AGAIN,
    output: "GET stopped",
  },
  {
    name: "stopped-below",
    title: "does nothing more where it was only stopped as a call that it has made, and that is not kept, read",
    asks: "careful",
    point: "reading",
    seen: ["POST first", "GET asked", "GET asked", "POST asked", "POST last"],
    doubt: didNot("tools.call"),
    output: "POST stopped-below",
  },
];
