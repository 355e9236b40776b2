"""A text has one vector, whatever it is embedded with."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

TEXTS = [" ".join(["the heron stood in the shallows and"] * n) for n in range(1, 45, 3)]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12), st.integers(0, 11))
def test_a_vector_does_not_depend_on_the_company(embedder, company, place):
    place %= len(company)
    assert np.array_equal(embedder.encode(company)[place], embedder.encode([company[place]])[0])


def test_vectors_are_of_length_one_and_near_those_of_the_library(embedder):
    ours = embedder.encode(TEXTS)
    theirs = embedder.library().encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)
    assert (ours * theirs).sum(axis=1).min() > 0.998


def test_nothing_has_no_vectors(embedder):
    assert embedder.encode([]).shape == (0, embedder.dimensions)
