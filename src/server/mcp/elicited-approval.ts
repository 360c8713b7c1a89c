import { randomBytes } from "node:crypto";
import {
  createRequestStateCodec,
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  type InputResponseView,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { isObject, type JsonValue, memberOf, seen, visibleJson } from "../../kernel/base/json.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import { DecisionConflict } from "../../kernel/engine/durable/durable-calls.ts";
import type { CallWait, Decision } from "../../kernel/store/calls/durable/durable-call.ts";
import type { OwnWaits } from "../../kernel/tool/contracts/runner.ts";

/** Time for an answer. Without a valid answer, the call is unchanged. */
const ANSWER_MS = 10 * 60_000;
/** Open questions of one session, and questions in a row about one call. */
const OPEN_MAX = 16;
const ROUNDS_MAX = 8;
/** Longest text of a question: the deciding person has to see all that runs. */
const SHOWN_MAX = 8_000;
/** Looks at a decided call until it has ended, and their interval. */
const LOOKS_MAX = 600;
const LOOK_MS = 1_000;
const REASON_MAX = 1_000;
const ANSWER = "approval";

/** Seals the state that a client without a session sends back. Another process rejects it: the call keeps waiting. */
const SEAL = randomBytes(32);

const FORM: ElicitRequestFormParams["requestedSchema"] = {
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["approve", "refuse"] },
    reason: { type: "string", title: "Reason", maxLength: REASON_MAX },
  },
  required: ["decision"],
};

/** A question to a client, as the client sends it back. */
interface Asked {
  readonly id: string;
  readonly step: number;
  readonly digest: string;
  /** Name that the client called. */
  readonly tool: string;
}

type Approval = CallWait & { readonly kind: "approval" };

/** The client of a call, with the parts needed to ask it. */
interface AskedClient {
  readonly context: ServerContext;
  /** Whether it sends answers back with another request, as clients of later revisions do. */
  readonly comesBack: boolean;
  readonly capabilities: unknown;
  /** Aborts when no client can get the result any more. */
  readonly signal: AbortSignal;
}

interface Question extends Omit<Asked, "tool"> {
  readonly message: string;
}

/** Asks the person at a client about calls that its caller may decide itself: by rules with `self: true`. */
export class ElicitedApprovals {
  readonly #waits: OwnWaits;
  readonly #codec: RequestStateCodec<Asked>;
  readonly #answerMs: number;
  /** Questions that wait for their answers. */
  #open = 0;

  constructor(waits: OwnWaits, answerMs = ANSWER_MS) {
    this.#waits = waits;
    this.#answerMs = answerMs;
    const { identity } = waits;
    this.#codec = createRequestStateCodec<Asked>({ key: SEAL, ttlSeconds: answerMs / 1_000, bind: () => identity });
  }

  /** Rejects a state unless this process has sent it, to the same caller, within its time. */
  readonly verify = (state: string, context: ServerContext): Promise<Asked> => this.#codec.verify(state, context);

  /** The result of a waiting call: after the client's answer, if it can be asked. */
  async settle(paused: ToolResult, tool: string, client: AskedClient): Promise<ToolResult | InputRequiredResult> {
    if (!takesForms(client.capabilities)) return paused;
    let result = paused;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const question = await this.#questionOf(result);
      if (question === null) return result;
      if (client.comesBack) return this.#request(question, tool, client.context);
      const answer = await this.#ask(question, client);
      if (answer === null) return result;
      result = (await this.#decide(question, answer, client.signal)) ?? result;
    }
    return result;
  }

  /** The result of a call that a client was asked about before, with the client's answer. */
  async resume(tool: string, client: AskedClient): Promise<ToolResult | InputRequiredResult> {
    const { requestState, inputResponses } = client.context.mcpReq;
    const asked = requestState<Asked>();
    const answer = readAnswer(inputResponse(inputResponses, ANSWER));
    const given = asked?.tool === tool ? await this.#resultOf(asked, answer, client.signal) : undefined;
    if (given === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the answer is about a call that is not kept");
    // A client without an answer is not asked again.
    return answer === null ? given : this.settle(given, tool, client);
  }

  /** The question about a call; `null` if this caller's client cannot decide it. */
  async #questionOf({ error }: ToolResult): Promise<Question | null> {
    if (error?.code !== "paused" || this.#open >= OPEN_MAX || !this.#waits.mayDecide()) return null;
    const call = await this.#waits.get(error.details?.id ?? "");
    const wait = call?.waits.find(isOwnApproval);
    if (call === undefined || wait === undefined) return null;
    const shown = visibleJson(wait.arguments as JsonValue);
    // The message is the tool's own: it comes last, so that it cannot pass for the arguments.
    const message = `Tool: ${wait.tool ?? call.tool}\nArguments: ${shown}\n\n${seen(wait.message)}`;
    // The deciding person has to see all that runs.
    return message.length > SHOWN_MAX ? null : { id: call.id, step: wait.step, digest: wait.digest, message };
  }

  async #request({ message, ...asked }: Question, tool: string, context: ServerContext): Promise<InputRequiredResult> {
    const requestState = await this.#codec.mint({ ...asked, tool }, context);
    const ask = inputRequired.elicit({ mode: "form", message, requestedSchema: FORM });
    return inputRequired({ inputRequests: { [ANSWER]: ask }, requestState });
  }

  /** Asks a connected client; `null` without a valid answer. */
  async #ask({ message }: Question, { context: { mcpReq }, signal }: AskedClient): Promise<Answer | null> {
    const params = { mode: "form", message, requestedSchema: FORM };
    this.#open++;
    try {
      const timing = { timeout: this.#answerMs, maxTotalTimeout: this.#answerMs, signal };
      const given = await mcpReq.send({ method: "elicitation/create", params }, timing);
      return readAnswer(inputResponse({ [ANSWER]: given }, ANSWER));
    } catch {
      // The call keeps waiting for another decision.
      return null;
    } finally {
      this.#open--;
    }
  }

  #resultOf(asked: Asked, answer: Answer | null, signal: AbortSignal): Promise<ToolResult | undefined> {
    return answer === null ? this.#waits.result(asked.id, { waitMs: 0 }) : this.#decide(asked, answer, signal);
  }

  /** Decides for the caller, once, and waits for the end of the call. `undefined` if it is not kept. */
  async #decide(
    { id, step, digest }: Omit<Asked, "tool">,
    answer: Answer,
    signal: AbortSignal,
  ): Promise<ToolResult | undefined> {
    try {
      await this.#waits.decide(id, { wait: step, digest, ...answer });
    } catch (error) {
      // Another decision came first, or this one is not permitted: the call is unchanged.
      if (!(error instanceof DecisionConflict || error instanceof GloveboxError)) throw error;
    }
    for (let looks = 0; looks < LOOKS_MAX && !signal.aborted; looks++) {
      await this.#waits.result(id, { waitMs: LOOK_MS, signal });
      const call = await this.#waits.get(id);
      if (call?.state !== "ready" && call?.state !== "running") break;
    }
    return this.#waits.result(id, { waitMs: 0 });
  }
}

type Answer = Pick<Decision, "decision" | "reason">;

/** Only a form that was filled in and sent decides. */
function readAnswer(view: InputResponseView): Answer | null {
  if (view.kind !== "elicit" || view.action !== "accept") return null;
  const decision = memberOf(view.content, "decision");
  const reason = memberOf(view.content, "reason") ?? "";
  if (decision !== "approve" && decision !== "refuse") return null;
  if (typeof reason !== "string" || reason.length > REASON_MAX) return null;
  return reason === "" ? { decision } : { decision, reason };
}

function isOwnApproval(wait: CallWait): wait is Approval {
  return wait.kind === "approval" && wait.state === "open" && wait.self;
}

/** Whether a client declares that it shows forms: in earlier revisions, no mode meant this one. */
function takesForms(capabilities: unknown): boolean {
  const elicitation = memberOf(capabilities, "elicitation");
  return isObject(elicitation) && (isObject(elicitation["form"]) || Object.keys(elicitation).length === 0);
}
