"""Commands for developers of receivers: the parts of `malipo listen` and `malipo trigger`."""
