/** The global one; in Node.js 18, which has none, that of its own module. The name is not written as a constant, so that bundlers for browsers and edge runtimes leave it alone. */
export declare function webCrypto(): Promise<Crypto>;
