"""The protocol of frames that the lowering computes with, and its implementation on the host by Polars."""

from __future__ import annotations
