export const VERSION = "0.5.0"; // Of the clients. It is not that of the service.
