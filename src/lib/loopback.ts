/** As a URL shows them: `127.1` is 127.0.0.1, and `[::ffff:127.0.0.1]` is [::ffff:7f00:1]. */
const loopbackAddress = /^(127(\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/

/** Whether the address is a loopback address. The only name that counts is `localhost`; nothing is resolved. */
export function isLoopback(target: string): boolean {
  const { hostname } = new URL(target)
  return hostname === 'localhost' || loopbackAddress.test(hostname)
}
