export const VERSION = "0.2.0"; // The release of malipo that it was made for.
