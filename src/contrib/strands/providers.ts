import { chatProvider } from "./chat-model.ts";
import { ProviderError } from "./errors.ts";
import type { ModelProvider } from "./model.ts";
import type { FailurePolicy, Runtime } from "./workflow.ts";

/** Providers that a workflow may name. Both implement OpenAI's chat completions. */
export const PROVIDERS: readonly string[] = ["ollama", "openai"];

/** Maximum number of retries of a workflow; a higher number is cut. */
const RETRIES_MAX = 20;

const HOSTS: { readonly [provider: string]: string } = {
  ollama: "http://127.0.0.1:11434",
  openai: "https://api.openai.com",
};

/**
 * Model that a workflow's `runtime` names. The key in `OPENAI_API_KEY` goes only to OpenAI or to the origin of
 * `OPENAI_BASE_URL`: a workflow may name any host, and must not be able to send the key there. Throws a `ProviderError`
 * for an unknown provider, and for a missing key.
 */
export function createProvider(
  { provider, host, failure_policy }: Pick<Runtime, "provider" | "host" | "failure_policy">,
  environment: { readonly [name: string]: string | undefined } = process.env,
): ModelProvider {
  const own = provider === "openai" ? environment["OPENAI_BASE_URL"] || HOSTS[provider] : HOSTS[provider];
  if (!PROVIDERS.includes(provider) || own === undefined) {
    throw new ProviderError(`there is no provider '${provider}'; use one of ${PROVIDERS.join(", ")}`);
  }
  const retries = failure_policy === undefined ? {} : retriesOf(failure_policy);
  const isElsewhere = host !== undefined && URL.parse(host)?.origin !== URL.parse(own)?.origin;
  if (provider === "ollama" || isElsewhere) return chatProvider({ host: host ?? own, ...retries });
  const apiKey = environment["OPENAI_API_KEY"];
  if (apiKey === undefined || apiKey === "") {
    throw new ProviderError("the provider 'openai' needs a key: set OPENAI_API_KEY in the environment");
  }
  return chatProvider({ host: host ?? own, apiKey, ...retries });
}

/** The policy's defaults are those of Strands' workflows. */
function retriesOf({ retries = 2, backoff = "exponential", wait_min = 1, wait_max = 60 }: FailurePolicy) {
  return {
    retries: Math.min(RETRIES_MAX, retries),
    backoff,
    pauseMinMs: wait_min * 1_000,
    pauseMaxMs: wait_max * 1_000,
  };
}
