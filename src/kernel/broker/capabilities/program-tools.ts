import type { ChildCallEnd, CalledToolResult, Capability } from "./capability.ts";
import { wholeGrants } from "./names.ts";
import { PAUSE_METHODS, pauseOf, readPause } from "./pause.ts";
import { TOOL_CALL, type ToolRequest } from "./tools.ts";

/** Name of the capability through which a program calls the tools of its caller. */
export const PROGRAM_TOOLS = "program";

/** Methods that answer with the end of a call of a tool. */
export const TOOL_CALLS: readonly string[] = ["tools.call", `${PROGRAM_TOOLS}.call`];

/** The tools of one run of a program. The program's arguments are hostile input. */
export interface ProgramTools {
  /** The failure of a call of a tool that the program may not call; `undefined` for one that it may. */
  refuse(name: string): Extract<CalledToolResult, { readonly ok: false }> | undefined;
  /** Finds tools, for `search_tools` in the program. Throws an error with a message for the program. */
  search(query: Readonly<Record<string, unknown>>): unknown;
  /** Called when a call of a tool begins. The returned function receives the end. */
  onCall(call: ProgramCall): (end: CallEnd) => void;
}

/** A call of a tool by a program. */
export interface ProgramCall {
  readonly tool: string;
  /** Its begin, in the time of `performance.now()`. */
  readonly startMs: number;
  /** Line of the program's text that made it, from 1, as the program reports it. */
  readonly line?: number;
  readonly column?: number;
}

export interface CallEnd extends Omit<ChildCallEnd, "result"> {
  /** `ok`, or the code of its error. */
  readonly code: string;
  readonly endMs: number;
}

interface ProgramRequest extends ToolRequest {
  readonly line?: number;
  readonly column?: number;
}

const PLACE = { type: "integer", minimum: 1, maximum: 1_000_000 } as const;
const CALL = { ...TOOL_CALL, properties: { ...TOOL_CALL.properties, line: PLACE, column: PLACE } };

/** The same for all programs: their schemas are compiled once. */
export const PROGRAM_METHODS: Pick<Capability, "methods"> = {
  methods: {
    ...PAUSE_METHODS.methods,
    call: { input: CALL, isAnnounced: true },
    search: { input: { type: "object" }, isRead: true },
  },
};

/**
 * `program`: tools of the engine as a capability of one call. The caller of a program grants them with the call, so no
 * policy does. `named`: tools that the program's text names.
 */
export function programTools(tools: ProgramTools, named: readonly string[] = []): Capability<true> {
  return {
    name: PROGRAM_TOOLS,
    callees: named.filter((name) => tools.refuse(name) === undefined),
    grants: wholeGrants,
    ...PROGRAM_METHODS,
    open: (call) => {
      const run = async (
        { name, arguments: args, ...place }: ProgramRequest,
        step: number,
      ): Promise<CalledToolResult & Pick<ChildCallEnd, "edited">> => {
        const onEnd = tools.onCall({ tool: name, startMs: performance.now(), ...placeIn(place) });
        const end = (code: string, more: Omit<ChildCallEnd, "result"> = {}): void =>
          onEnd({ ...more, code, endMs: performance.now() });
        const refused = tools.refuse(name);
        if (refused !== undefined) {
          end(refused.code);
          return refused;
        }
        try {
          const { result, ...more } = await call.callTool(name, args, step);
          end(result.ok ? "ok" : result.code, more);
          const { edited } = more;
          return edited === undefined ? result : { ...result, edited };
        } catch (error) {
          end("capability_limit");
          throw error;
        }
      };
      return {
        invoke: (method, args, step) => {
          if (method === "call") return run(args as ProgramRequest, step);
          if (method === "search") return tools.search(args as Record<string, unknown>);
          return pauseOf(call)(step, readPause(method, args, Date.now()));
        },
        adopt: (given, reply) => {
          const { name, arguments: args, ...place } = given as ProgramRequest;
          const startMs = reply.startMs - performance.timeOrigin;
          const onEnd = tools.onCall({ tool: name, startMs, ...placeIn(place) });
          call.adoptChild?.(name, args, reply);
          onEnd({ code: "ok", endMs: startMs + reply.wallMs, callId: reply.callId });
        },
      };
    },
  };
}

function placeIn({ line, column }: Pick<ProgramRequest, "line" | "column">): Pick<ProgramCall, "line" | "column"> {
  return line === undefined ? {} : { line, column: column ?? 1 };
}
