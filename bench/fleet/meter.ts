import type { RedisClient } from "../../src/fleet/redis/connection.ts";

/** What one operation cost: microseconds and bytes, the mean of many. */
export interface Sample {
  /** Processor time of Redis's main thread: commands, and reading from and writing to its sockets. */
  readonly redisUs: number;
  /** The part of it that Redis counts as running these commands. */
  readonly commandUs: number;
  /** Processor time of this process, which does what servers and machines do. */
  readonly clientUs: number;
  readonly wireBytes: number;
  readonly wallUs: number;
}

interface Reading extends Sample {
  readonly commands: ReadonlyMap<string, number>;
}

const US_PER_SECOND = 1e6;
const US_PER_MS = 1e3;

/** Reads what a Redis has done so far, before and after, and says what lies between. */
export class Meter {
  readonly #client: RedisClient;
  readonly #lanes: number;
  #zero: Sample = { redisUs: 0, commandUs: 0, clientUs: 0, wireBytes: 0, wallUs: 0 };

  /** `lanes`: operations that are on their way at once. */
  constructor(client: RedisClient, lanes: number) {
    this.#client = client;
    this.#lanes = lanes;
  }

  /** Finds out what reading costs by itself, so that it can be left out. */
  async calibrate(): Promise<void> {
    const before = await this.#read();
    const after = await this.#read();
    this.#zero = { ...difference(before, after, 1, []), wallUs: 0 };
  }

  /** Does something so many times, a few at once. `commands`: those that Redis's own count is taken of. */
  async measure(
    times: number,
    commands: readonly string[],
    run: (nth: number, lane: number) => Promise<unknown>,
  ): Promise<Sample> {
    const before = await this.#read();
    let next = 0;
    const serve = async (lane: number): Promise<void> => {
      for (let nth = next++; nth < times; nth = next++) await run(nth, lane);
    };
    await Promise.all(Array.from({ length: this.#lanes }, (_, lane) => serve(lane)));
    const sample = difference(before, await this.#read(), times, commands);
    const share = (of: keyof Sample) => Math.max(0, sample[of] - this.#zero[of] / times);
    return {
      redisUs: share("redisUs"),
      commandUs: sample.commandUs,
      clientUs: share("clientUs"),
      wireBytes: share("wireBytes"),
      wallUs: sample.wallUs,
    };
  }

  async #read(): Promise<Reading> {
    const text = await this.#client.info("cpu", "stats", "commandstats");
    const numbers = new Map(
      [...text.matchAll(/^(\w+):([\d.]+)/gm)].map(([, name, value]) => [name ?? "", Number(value)]),
    );
    const commands = new Map(
      [...text.matchAll(/^cmdstat_([\w|]+):calls=\d+,usec=(\d+)/gm)].map(([, name, us]) => [name ?? "", Number(us)]),
    );
    const of = (name: string): number => {
      const value = numbers.get(name);
      if (value === undefined) throw new Error(`Redis does not tell ${name}`);
      return value;
    };
    const { user, system } = process.cpuUsage();
    return {
      redisUs: (of("used_cpu_user_main_thread") + of("used_cpu_sys_main_thread")) * US_PER_SECOND,
      commandUs: 0,
      clientUs: user + system,
      wireBytes: of("total_net_input_bytes") + of("total_net_output_bytes"),
      wallUs: performance.now() * US_PER_MS,
      commands,
    };
  }
}

function difference(before: Reading, after: Reading, times: number, commands: readonly string[]): Sample {
  const ran = (reading: Reading) => commands.reduce((sum, name) => sum + (reading.commands.get(name) ?? 0), 0);
  const each = (of: keyof Sample) => (after[of] - before[of]) / times;
  return {
    redisUs: each("redisUs"),
    commandUs: (ran(after) - ran(before)) / times,
    clientUs: each("clientUs"),
    wireBytes: each("wireBytes"),
    wallUs: each("wallUs"),
  };
}
