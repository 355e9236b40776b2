"""Everything between the socket and a user's page: login, request limits, isolation of pages, the public API."""
