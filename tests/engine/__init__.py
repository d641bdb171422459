"""Tests of the engine protocol, parametrised over engines; folders test one engine each."""
