/** As `glovebox types` writes it. */
export interface Tools {
  readonly greet: { readonly input: { readonly name: string }; readonly output: { readonly text: string } };
}
