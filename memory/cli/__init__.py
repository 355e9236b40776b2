"""The command line of the bank, and the arguments and error handling that all of Memoir's command lines share."""
