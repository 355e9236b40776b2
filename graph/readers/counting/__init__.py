"""Count and add up what the notes tell: times between days, lengths, sums, lists and counts of things."""
