/**
 * The global one; in Node.js 18, which has none, that of its own module. The module's name stands in a variable, so that
 * bundlers for edge runtimes leave it alone.
 */
export async function webCrypto(): Promise<Crypto> {
  if (globalThis.crypto) return globalThis.crypto;
  const name = "node:crypto";
  return (await import(/* webpackIgnore: true */ name)).webcrypto;
}
