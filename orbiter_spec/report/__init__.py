"""What happened in one run or several, as one self-contained page and as images."""
