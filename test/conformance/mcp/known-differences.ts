/** Checks that do not pass, and why: `scenario:check`, or `scenario` for all of a scenario's checks that do not pass. */
export type Difference = readonly [name: string, reason: string];

/** What is known of a suite, for a server of tools. */
export interface KnownDifferences {
  /** For servers of another kind. */
  readonly notApplicable: readonly Difference[];
  /** Should pass. */
  readonly open: readonly Difference[];
}

const NO_PROMPTS = "the server has tools only, no prompts";
const NO_RESOURCES = "the server's resources are long outputs of calls, and no others";
const NO_COMPLETION = "the protocol completes arguments of prompts and resources only, not those of tools";
const NO_SAMPLING = "tools have no access to the client's model or files";
const NO_ELICITATION = "a tool cannot ask the client's user";
const NO_TASKS = "calls are no tasks: the protocol's client takes no task as the result of a call";

/** Scenarios of either revision for what the server does not have. */
const NOT_SERVED: readonly Difference[] = [
  ["completion-complete", NO_COMPLETION],
  ["prompts-get-embedded-resource", NO_PROMPTS],
  ["prompts-get-simple", NO_PROMPTS],
  ["prompts-get-with-args", NO_PROMPTS],
  ["prompts-get-with-image", NO_PROMPTS],
  ["prompts-list", NO_PROMPTS],
  ["resources-read-binary", NO_RESOURCES],
  ["resources-read-text", NO_RESOURCES],
  ["resources-templates-read", NO_RESOURCES],
];

/** By revision of the protocol. */
export const KNOWN_DIFFERENCES = {
  "2025-11-25": {
    notApplicable: [
      ...NOT_SERVED,
      ["resources-subscribe", NO_RESOURCES],
      ["resources-unsubscribe", NO_RESOURCES],
      ["tools-call-sampling", NO_SAMPLING],
    ],
    open: [
      ["elicitation-sep1034-defaults", NO_ELICITATION],
      ["elicitation-sep1330-enums", NO_ELICITATION],
      ["tools-call-elicitation", NO_ELICITATION],
    ],
  },
  "2026-07-28": {
    notApplicable: [
      ...NOT_SERVED,
      ["caching:sep-2549-prompts-list-caching-hints", NO_PROMPTS],
      ["input-required-result-basic-list-roots", NO_SAMPLING],
      ["input-required-result-basic-sampling", NO_SAMPLING],
      ["input-required-result-non-tool-request", NO_PROMPTS],
    ],
    open: [
      ["input-required-result-basic-elicitation", NO_ELICITATION],
      ["input-required-result-capability-check", NO_ELICITATION],
      ["input-required-result-ignore-extra-params", NO_ELICITATION],
      ["input-required-result-missing-input-response", NO_ELICITATION],
      ["input-required-result-multi-round", NO_ELICITATION],
      ["input-required-result-multiple-input-requests", NO_ELICITATION],
      ["input-required-result-request-state", NO_ELICITATION],
      ["input-required-result-result-type", NO_ELICITATION],
      ["input-required-result-tampered-state", NO_ELICITATION],
      ["server-stateless:sep-2575-missing-capability-http-400", NO_ELICITATION],
      ["server-stateless:sep-2575-server-rejects-undeclared-capability", NO_ELICITATION],
      ["tasks-capability-negotiation", NO_TASKS],
      ["tasks-dispatch-and-envelope", NO_TASKS],
      ["tasks-lifecycle", NO_TASKS],
      ["tasks-mrtr-composition", NO_TASKS],
      ["tasks-mrtr-input", NO_TASKS],
      ["tasks-request-headers", NO_TASKS],
      ["tasks-request-state-removal", NO_TASKS],
      ["tasks-required-task-error", NO_TASKS],
      ["tasks-wire-fields", NO_TASKS],
    ],
  },
} as const satisfies Readonly<Record<string, KnownDifferences>>;
