"""The full list of suggestions: from the model, from counts and from edits, in one order."""
