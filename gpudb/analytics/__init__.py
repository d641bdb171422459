"""Analytics: models, clustering and regression by libraries, in child processes, over whole columns of rows.

The algorithms are scikit-learn's, or cuML's where there is a GPU and cuml is installed (`backend`), XGBoost's and
others'. Each library is imported where a call needs it; without it the call raises 0A000. `table_functions` is what
children serve for functions in FROM, `served` what they serve for models. This room imports only `processes`, `errors`
and `types`.
"""
