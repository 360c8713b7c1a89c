import { chatProvider } from "./chat-model.ts";
import { ProviderError } from "./errors.ts";
import type { ModelProvider } from "./model.ts";
import type { Runtime } from "./workflow.ts";

/** The providers that a workflow may name. Both speak OpenAI's chat completions. */
export const PROVIDERS: readonly string[] = ["ollama", "openai"];

const HOSTS: { readonly [provider: string]: string } = {
  ollama: "http://127.0.0.1:11434",
  openai: "https://api.openai.com",
};

/**
 * The model that a workflow's `runtime` names. A key is `OPENAI_API_KEY` of the environment, and goes to OpenAI or to
 * where `OPENAI_BASE_URL` says: a workflow may name any host, and must not be able to send it there.
 * Throws a `ProviderError` where there is no such provider, or where it wants a key and has none.
 */
export function createProvider(
  { provider, host }: Runtime,
  environment: { readonly [name: string]: string | undefined } = process.env,
): ModelProvider {
  const own = provider === "openai" ? environment["OPENAI_BASE_URL"] || HOSTS[provider] : HOSTS[provider];
  if (!PROVIDERS.includes(provider) || own === undefined) {
    throw new ProviderError(`there is no provider '${provider}'; use one of ${PROVIDERS.join(", ")}`);
  }
  const isElsewhere = host !== undefined && URL.parse(host)?.origin !== URL.parse(own)?.origin;
  if (provider === "ollama" || isElsewhere) return chatProvider({ host: host ?? own });
  const apiKey = environment["OPENAI_API_KEY"];
  if (apiKey === undefined || apiKey === "") {
    throw new ProviderError("the provider 'openai' needs a key: set OPENAI_API_KEY in the environment");
  }
  return chatProvider({ host: host ?? own, apiKey });
}
