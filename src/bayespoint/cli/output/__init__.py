"""What the commands print: errors, notes, results and progress."""
