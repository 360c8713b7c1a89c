import type { Context } from "./scenario.ts";
import type { Sample } from "./statistics.ts";

/** What every round found, by subject. */
export type Rounds<Found> = ReadonlyMap<string, readonly Found[]>;

/**
 * Samples every subject in every round, in reversed order every other round, so that neither a slow minute nor what
 * a subject leaves behind always hits the same one. A first, shorter round warms up and is dropped.
 */
export async function inRounds<Subject extends { readonly name: string }, Found>(
  { size, state, progress }: Context,
  subjects: readonly Subject[],
  label: string,
  sample: (subject: Subject, sampleMs: number) => Promise<Found>,
): Promise<Rounds<Found>> {
  const found = new Map<string, Found[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round <= size.rounds; round++) {
    const warmUp = round === 0;
    progress(`${state}: ${label}, ${warmUp ? "warm-up" : `round ${round} of ${size.rounds}`}`);
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const result = await sample(subject, warmUp ? size.sampleMs / 2 : size.sampleMs);
      if (!warmUp) found.get(subject.name)?.push(result);
    }
  }
  return found;
}

/** One figure of all that the rounds found; without the subjects that lack it in any round. */
export function pick<Found>(
  rounds: Rounds<Found>,
  figure: (found: Found) => Sample | number | null,
): Map<string, Sample[]> {
  const picked = new Map<string, Sample[]>();
  for (const [subject, all] of rounds) {
    const samples = all.flatMap((found) => {
      const value = figure(found);
      if (value === null) return [];
      return typeof value === "number" ? [{ value }] : [value];
    });
    if (samples.length === all.length) picked.set(subject, samples);
  }
  return picked;
}
