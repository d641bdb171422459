"""Ensembles of trees as arrays that kernels and NumPy read: from XGBoost, LightGBM and scikit-learn's forests.

`compiling` makes an ensemble of a model's bytes, in a child process; `evaluation` scores rows by it.
"""
