/** Checks that do not pass, and why: `scenario:check`, or `scenario` for all of a scenario's checks that do not pass. */
type Difference = readonly [name: string, why: string];

/** The outcome of a suite of the protocol, for a server of tools. */
interface Outcome {
  /** Number of checks that pass. */
  readonly passed: number;
  /** Number of checks that do not, all of them below. */
  readonly fallen: number;
  readonly differences: readonly Difference[];
}

const NO_PROMPTS = "the server has tools only, no prompts";
const NO_RESOURCES = "the server has tools only, no resources";
const NO_COMPLETION = "the protocol completes arguments of prompts and resources only, not those of tools";
const NO_REQUESTS = "a tool cannot ask the client: it has no capability for sampling, elicitation or roots";
const NO_TASKS = "the extension for tasks is not spoken: a call is answered by its result";

/** Scenarios of either revision for what the server does not have. */
const NOT_SERVED: readonly Difference[] = [
  ["completion-complete", NO_COMPLETION],
  ["prompts-get-embedded-resource", NO_PROMPTS],
  ["prompts-get-simple", NO_PROMPTS],
  ["prompts-get-with-args", NO_PROMPTS],
  ["prompts-get-with-image", NO_PROMPTS],
  ["prompts-list", NO_PROMPTS],
  ["resources-list", NO_RESOURCES],
  ["resources-read-binary", NO_RESOURCES],
  ["resources-read-text", NO_RESOURCES],
  ["resources-templates-read", NO_RESOURCES],
];

/** By revision of the protocol. */
export const OUTCOMES = {
  "2025-11-25": {
    passed: 22,
    fallen: 16,
    differences: [
      ...NOT_SERVED,
      ["elicitation-sep1034-defaults", NO_REQUESTS],
      ["elicitation-sep1330-enums", NO_REQUESTS],
      ["resources-subscribe", NO_RESOURCES],
      ["resources-unsubscribe", NO_RESOURCES],
      ["tools-call-elicitation", NO_REQUESTS],
      ["tools-call-sampling", NO_REQUESTS],
    ],
  },
  "2026-07-28": {
    passed: 109,
    fallen: 59,
    differences: [
      ...NOT_SERVED,
      ["caching:sep-2549-prompts-list-caching-hints", NO_PROMPTS],
      ["caching:sep-2549-resources-list-caching-hints", NO_RESOURCES],
      ["caching:sep-2549-resources-templates-list-caching-hints", NO_RESOURCES],
      ["input-required-result-basic-elicitation", NO_REQUESTS],
      ["input-required-result-basic-list-roots", NO_REQUESTS],
      ["input-required-result-basic-sampling", NO_REQUESTS],
      ["input-required-result-capability-check", NO_REQUESTS],
      ["input-required-result-ignore-extra-params", NO_REQUESTS],
      ["input-required-result-missing-input-response", NO_REQUESTS],
      ["input-required-result-multi-round", NO_REQUESTS],
      ["input-required-result-multiple-input-requests", NO_REQUESTS],
      ["input-required-result-non-tool-request", NO_PROMPTS],
      ["input-required-result-request-state", NO_REQUESTS],
      ["input-required-result-result-type", NO_REQUESTS],
      ["input-required-result-tampered-state", NO_REQUESTS],
      ["sep-2164-resource-not-found:sep-2164-data-uri", NO_RESOURCES],
      ["sep-2164-resource-not-found:sep-2164-error-code", NO_RESOURCES],
      ["server-stateless:sep-2575-missing-capability-http-400", NO_REQUESTS],
      ["server-stateless:sep-2575-server-rejects-undeclared-capability", NO_REQUESTS],
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
} as const satisfies Readonly<Record<string, Outcome>>;
