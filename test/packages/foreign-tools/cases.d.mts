export declare const CASES: readonly (readonly [library: string, tool: string, args: Record<string, unknown>])[];
export declare const CONFIG: { readonly [key: string]: string };
