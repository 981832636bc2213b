"""Candidate answers to a question without a model, as statements to run or choices to offer."""
