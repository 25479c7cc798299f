"""Files, processes and Ray on this machine: run folders, starting verl, watching it, and ending what was started."""
