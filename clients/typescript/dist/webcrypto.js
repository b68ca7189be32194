/** The global one; in Node.js 18, which has none, that of its own module. The name is not written as a constant, so that bundlers for browsers and edge runtimes leave it alone. */
export async function webCrypto() {
    if (globalThis.crypto)
        return globalThis.crypto;
    const name = "node:crypto";
    return (await import(/* webpackIgnore: true */ name)).webcrypto;
}
