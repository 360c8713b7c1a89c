import { Cluster, type Redis } from "ioredis";
import { answerOf, wordsOfLoss } from "../redis/reply.ts";
import { RedisConnection } from "../redis/connection.ts";
import { StoreFailure } from "../../kernel/store/calls/thread/call-backend.ts";
import { prefixOf } from "../redis/keys.ts";
import { RedisKeptCalls, type RedisSettings } from "./redis-kept-calls.ts";

const REACH_MS = 4_000;
const MIB = 1024 * 1024;

/** Faults of a Redis as the place of kept calls, each with its remedy, without addresses. */
export interface RedisInspection {
  /** Reasons why calls cannot be kept or read there. */
  readonly failures: readonly string[];
  /** Reasons why calls may be lost there. */
  readonly warnings: readonly string[];
  /** Number of the newest calls that the secret has opened. */
  readonly opened: number;
}

/** Examines a Redis that is to keep calls, without changes. */
export async function inspectRedis(settings: RedisSettings): Promise<RedisInspection> {
  const key = `${prefixOf(settings.fleet, "calls")}:rows`;
  await using connection = RedisConnection.open(settings.url, "glovebox-doctor", { key });
  if (!(await connection.ready(REACH_MS))) {
    return {
      failures: [`Redis ${wordsOfLoss(connection)}, at the address in calls.url`],
      warnings: [],
      opened: 0,
    };
  }
  const { client } = connection;
  const nodes = client instanceof Cluster ? client.nodes("master") : [client];
  const told = await Promise.all(nodes.map((node) => answerOf(connection, () => factsOf(node))));
  const known = told.filter((facts) => facts !== undefined);
  const warnings = known.flatMap((facts) => warningsOf(facts, settings));
  if (known.length < nodes.length) {
    warnings.push("it does not tell its maxmemory-policy (INFO): see that it is noeviction");
  }
  const newest = await newestOf(new RedisKeptCalls(connection, settings));
  const failures = [...known.flatMap(failuresOf), ...newest.failures];
  return { failures: [...new Set(failures)], warnings: [...new Set(warnings)], opened: newest.opened };
}

interface RedisFacts {
  readonly policy: string;
  readonly maxBytes: number;
  readonly usedBytes: number;
  readonly isReplica: boolean;
}

async function factsOf(node: Redis): Promise<RedisFacts> {
  const told = `${await node.info("memory")}${await node.info("replication")}`;
  const word = (name: string): string => new RegExp(`^${name}:(\\S+)`, "m").exec(told)?.[1] ?? "";
  return {
    policy: word("maxmemory_policy"),
    maxBytes: Number(word("maxmemory")),
    usedBytes: Number(word("used_memory")),
    isReplica: word("role") === "slave",
  };
}

function failuresOf({ policy, maxBytes, usedBytes, isReplica }: RedisFacts): readonly string[] {
  const isFull = maxBytes > 0 && usedBytes >= maxBytes && policy === "noeviction";
  return [
    ...(isReplica ? ["Redis is a replica, which takes no calls: name its primary in calls.url"] : []),
    ...(isFull ? ["Redis is full: raise its maxmemory, or lower calls.maxBytes"] : []),
  ];
}

function warningsOf({ policy, maxBytes }: RedisFacts, settings: RedisSettings): readonly string[] {
  const evicts = policy !== "" && policy !== "noeviction";
  const isSmall = maxBytes > 0 && maxBytes < settings.maxBytes;
  const sizes = `${Math.floor(settings.maxBytes / MIB)} MiB`;
  return [
    ...(evicts ? [`with its maxmemory-policy ${policy}, a full Redis removes kept calls: set noeviction`] : []),
    ...(isSmall ? [`its maxmemory is less than calls.maxBytes, ${sizes}: raise the one, or lower the other`] : []),
  ];
}

async function newestOf(calls: RedisKeptCalls): Promise<Pick<RedisInspection, "failures" | "opened">> {
  try {
    const { found, opened } = await calls.openNewest();
    const others = `the secret does not open ${found - opened} of the newest ${found} calls`;
    const remedy = "give all servers the same calls.secret, or these a calls.fleet of their own";
    return { failures: opened === found ? [] : [`${others}, which were sealed with another one: ${remedy}`], opened };
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    return { failures: [error.message], opened: 0 };
  }
}
