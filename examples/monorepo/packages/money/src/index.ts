/** Cents as a price. */
export const price = (cents: number, currency: string): string => `${(cents / 100).toFixed(2)} ${currency}`;
