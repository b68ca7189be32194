export const VERSION = "0.4.0"; // The release of malipo that it was made for.
