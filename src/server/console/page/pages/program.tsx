import { signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import { getJson, messageOf, postJson } from "../api.ts";
import { CallOptions } from "../call-options.tsx";
import { announce, Badge, Card, Notice, Quiet, Table, TextView, ToolLink, useLoaded, When } from "../elements.tsx";
import { readJson } from "../exact-json.ts";
import { formatMs, plural } from "../format.ts";
import { ResultCard } from "../result-card.tsx";
import { type Run, RunForm, useRun } from "../run.tsx";
import type { Declarations, Explanation, Json, ProgramExplanation, ProgramProblem } from "../wire.ts";
import { problemsIn, ProgramParts } from "./program-result.tsx";

const SAMPLE = `// The body of an async function. It may call the tools that are declared below.
const found = await search_tools({ query: "", detail: "name" });
return found.matches.map(({ name }) => name);
`;
const PROBLEMS_MAX = 20;
const HINT = "Run the program to see what it returns, which tools it calls, what it logs and what it costs.";

/** The text of the page's program, also when another view was shown meanwhile. */
const draft = signal(SAMPLE);
const options = new CallOptions();

/** A program over the tools: it can be written, checked and run, and its calls are shown beside its text. */
export function Page() {
  const run = useRun();
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Program</h1>
      <p class="lead">One program in place of many calls, as a model writes it for run_code.</p>
      <Editor run={run} />
      <ResultCard run={run} class="wide" hint={HINT} partsOf={(outcome) => <ProgramParts {...outcome} />} />
      <About />
    </div>
  );
}

function Editor({ run }: { run: Run }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const inputError = useSignal("");
  const problems = useSignal<readonly ProgramProblem[] | string | null>(null);
  const readInput = (): Json | undefined => {
    const text = input.current?.value.trim() ?? "";
    inputError.value = "";
    if (text === "") return null;
    try {
      return readJson(text);
    } catch {
      inputError.value = "This is not JSON.";
      input.current?.focus();
      return undefined;
    }
  };
  const check = async (): Promise<void> => {
    try {
      const answer = await postJson<{ problems: readonly ProgramProblem[] }>("/v1/code/check", {
        code: area.current?.value ?? "",
      });
      const { length } = (problems.value = answer.problems);
      announce(length === 0 ? "No mistakes found" : `${plural(length, "mistake")} found`);
    } catch (error) {
      problems.value = messageOf(error);
    }
  };
  const start = async (): Promise<void> => {
    const given = readInput();
    const chosen = options.read();
    if (given === undefined || chosen === null) return;
    const code = area.current?.value ?? "";
    problems.value = null;
    announce("The program runs");
    const body = { name: "run_code", arguments: { code, input: given } };
    const outcome = await run.start({ ...body, ...(Object.keys(chosen).length > 0 && { options: chosen }) }, "program");
    if (outcome === null) return;
    const { success, error, metadata } = outcome.result;
    const found = problemsIn(outcome.result);
    if (found.length > 0) problems.value = found;
    const calls = plural(metadata.calls?.length ?? 0, "call");
    const time = formatMs(metadata.wallMs);
    announce(success ? `The program ended well in ${time}, with ${calls}` : `The program failed: ${error?.code ?? ""}`);
  };
  return (
    <Card heading="Write a program">
      <RunForm run={run} onRun={() => void start()} actions={<Quiet onClick={() => void check()}>Check</Quiet>}>
        <label for="program-code" class="name">
          Program in TypeScript
        </label>
        <textarea
          ref={area}
          id="program-code"
          class="code editor long"
          rows={14}
          spellcheck={false}
          autocomplete="off"
          autoCapitalize="off"
          defaultValue={draft.peek()}
          onInput={(event) => (draft.value = event.currentTarget.value)}
        />
        <Problems found={problems.value} area={area.current} />
        <Input area={input} error={inputError.value} />
        <options.View />
      </RunForm>
    </Card>
  );
}

function Input({ area, error }: { area: RefObject<HTMLTextAreaElement | null>; error: string }) {
  return (
    <>
      <label for="program-input" class="name">
        Input as JSON, which the program sees as input
      </label>
      <textarea
        ref={area}
        id="program-input"
        class="code"
        rows={2}
        spellcheck={false}
        autocomplete="off"
        aria-describedby="program-input-error"
        aria-invalid={error === "" ? undefined : true}
      />
      <p class="error" id="program-input-error" role="status">
        {error}
      </p>
    </>
  );
}

interface ProblemsProps {
  /** `null`: not checked. A text: the reason why the check failed. */
  readonly found: readonly ProgramProblem[] | string | null;
  readonly area: HTMLTextAreaElement | null;
}

function Problems({ found, area }: ProblemsProps) {
  return (
    <div class="stack tight" role="status">
      {typeof found === "string" && <Notice>{found}</Notice>}
      {found?.length === 0 && (
        <p>
          <Badge text="no mistakes" tone="good" />
        </p>
      )}
      {Array.isArray(found) && found.length > 0 && (
        <div class="notice bad stack">
          <p class="strong">Mistakes</p>
          <ul>
            {(found as readonly ProgramProblem[]).slice(0, PROBLEMS_MAX).map((problem) => (
              <li>
                <Quiet small onClick={() => goTo(area, problem)}>
                  line {problem.line}, column {problem.column}
                </Quiet>{" "}
                {problem.message.slice(0, 2_000)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

/** Puts the cursor to a place of the text. */
function goTo(area: HTMLTextAreaElement | null, { line, column }: ProgramProblem): void {
  if (area === null) return;
  const before = area.value.split("\n", line - 1).reduce((length, text) => length + text.length + 1, 0);
  const at = Math.min(before + column - 1, area.value.length);
  area.focus();
  area.setSelectionRange(at, at);
}

function About() {
  const declared = useLoaded((signal) => getJson<Declarations>("/v1/code/declarations", signal), []);
  const explained = useLoaded((signal) => getJson<Explanation>("/v1/tools/run_code/explanation", signal), []);
  const program = explained.kind === "ready" ? explained.value.program : undefined;
  return (
    <div class="columns">
      <Card heading="What models read">
        <When loaded={declared}>
          {({ text }) => (
            <details>
              <summary>Declarations</summary>
              <TextView label="Declarations of tools" text={text} />
            </details>
          )}
        </When>
      </Card>
      {program !== undefined && (
        <Card heading="What programs may call">
          <CallableTools {...program} />
        </Card>
      )}
    </div>
  );
}

function CallableTools({ tools, callable, total }: ProgramExplanation) {
  return (
    <>
      <p>
        {callable} of {plural(total, "tool")}.
      </p>
      <Table
        label="Tools of programs"
        heads={["Tool", "May be called", "Why"]}
        items={tools}
        row={({ tool, isCallable, from, reason = "" }) => [
          <ToolLink name={tool} />,
          isCallable ? <Badge text="yes" tone="good" /> : <Badge text="no" tone="warn" />,
          isCallable ? from.join(", ") : reason,
        ]}
        omitted={total - tools.length}
      />
    </>
  );
}
