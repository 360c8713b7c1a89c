interface Host {
  readonly pantry: { left(asked: { readonly item: string }): Promise<number> };
}

export const recipe = {
  title: "Pancakes for some guests.",
  takes: ["guests"],
  async cook({ guests }: { readonly guests: number }, { pantry }: Host) {
    const eggs = guests * 2;
    const left = await pantry.left({ item: "eggs" });
    return { eggs, missing: Math.max(0, eggs - left) };
  },
};

/** The contract has no place for what a tool asks of its host. */
export const spec = { capabilities: { pantry: true } };
