"""Tests of the image and of the chart."""
