/**
 * Import this before anything that imports `undici`. Node.js creates the agent of its own `fetch` now; later, it would
 * take that of the package, which is of another version and refuses some requests.
 */
void globalThis.Headers
