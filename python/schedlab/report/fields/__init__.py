"""The fields of the JSON objects, a module for each kind of answer."""
