"""Measure speed, memory and exactness as the number of memories grows."""
