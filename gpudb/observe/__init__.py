"""Records of finished statements, and what is made of them: totals for metrics, statistics by query, the query log.

`statement` is the record and `recorder` the one seam: clients' conversations append records, and a thread hands them in
batches to the consumers. `metrics` names every metric that the server exports. Imports storage and everything below
it; sessions read the statistics, and the server exports the metrics.
"""
