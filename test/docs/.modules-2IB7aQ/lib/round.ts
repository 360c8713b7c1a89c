/** To the nearest five cents. */
export const toFive = (cents: number): number => Math.round(cents / 5) * 5;
