"""Makes e-mails of messages and sends them over SMTP. Which messages there are is in `malipo/messages`."""
