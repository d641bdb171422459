"""The fused pipeline's intermediate representation: typed expressions, steps and sinks; traversal and step order.

Pure data without arrays. Imports `columns` alone.
"""
