-- The user of the system who gave a command, with its uid: an operator's session says who they say they are, this says
-- whose account on the machine was used. None: it was not done at the command line.
ALTER TABLE audit_log ADD COLUMN os_user text;
