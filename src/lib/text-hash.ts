/** 32-bit FNV-1a over UTF-16 code units (Fowler, Noll, Vo). */
export function textHash(text: string, basis = 0x811c9dc5): number {
  let hash = basis
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
