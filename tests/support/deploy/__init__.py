"""Helpers of the tests of deploy/: programs of Kubernetes, schemas of its objects, rendered charts."""
