export declare const VERSION = "0.4.0";
