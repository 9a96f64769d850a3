"""What oracles share: errors, votes, derivatives, freedoms, and who is to blame."""
