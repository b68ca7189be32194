export declare const VERSION = "0.2.0";
