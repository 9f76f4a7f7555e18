"""The values of the contract: results, content, contexts, calls and errors."""
