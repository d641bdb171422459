"""The loader as PyTorch's dataset. Imports PyTorch: only `Relation.loader` imports this module."""

from __future__ import annotations

from torch.utils.data import IterableDataset

from gpudb.api.training.loader import Loader


class TorchLoader(Loader, IterableDataset):
    """A loader that is an iterable dataset: `torch.utils.data.DataLoader(loader, batch_size=None)`."""
