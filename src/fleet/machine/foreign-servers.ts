import { countForeignServers, foreignWords, type MemberOptions } from "../wire/members.ts";

/** Looks for servers that a machine cannot understand, which nobody would notice otherwise: their jobs go past it. */
export class ForeignServers {
  readonly #options: MemberOptions;
  readonly #tell: (why: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(options: MemberOptions, tell: (why: string) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#look(), this.#options.timings.foreignMs);
    void this.#look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const count = await countForeignServers(this.#options);
    if (count === null) return;
    if (count > 0 && this.#count === 0) this.#tell(foreignWords(count, "server"));
    this.#count = count;
  }
}
