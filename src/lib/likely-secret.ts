/** Beginnings that issuers of keys use. */
const issued = /^(?:(?:sk|pk|rk|ghp|gho|ghs|xoxb|xoxp|hf|glsa|glpat)[-_]|ref_|eyJ|AKIA)/
const minLength = 12
/** A word of letters and digits of this length that changes between them this often was not written by a person. */
const minRandom = 16
const minChanges = 4

/**
 * Whether a word of a file or of a command line looks like a key. People give Turnpike a file of keys, or a key, where
 * another file or a name belongs. An error message must not show it then, although nobody named it a secret.
 */
export function isLikelySecret(word: string): boolean {
  if (word.length < minLength) return false
  if (issued.test(word)) return true
  return (word.match(/[A-Za-z0-9]+/g) ?? []).some(
    run => run.length >= minRandom && (run.match(/[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])/g)?.length ?? 0) >= minChanges,
  )
}

/** The text without the words that look like keys. */
export const hideLikelySecrets = (text: string): string =>
  text.replace(/[^\s"'`,;()[\]{}<>]+/g, word => (isLikelySecret(word.replace(/^\W+/, '')) ? '***' : word))
