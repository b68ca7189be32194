export const VERSION = "0.3.0"; // The release of malipo that it was made for.
