"""Machine learning in the database: what child processes compute over the rows of queries.

The algorithms are scikit-learn's, or cuML's where there is a GPU and cuml is installed (`backend`); they take NumPy
arrays. `table_functions` is what children serve for functions in FROM. This room imports processes and errors.
"""
