/** The same data, of which nothing can be changed: for the type that a zod schema infers. */
export type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
