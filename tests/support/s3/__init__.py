"""An S3 server (moto) in an environment of its own, built from its lock."""
