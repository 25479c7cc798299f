"""Runs on a Ray cluster: what is sent, how it is followed, and what runs there.

    demand.py      has the cluster room for the run, now or ever
    parcel.py      the files that are sent, and nothing else
    submit.py      checks, then one job; the same run is never started twice
    follow.py      the job's log becomes the run folder's log, metrics and status
    on_cluster.py  the program that Ray starts: verl, its retries, and what it tells the client

The job server is the only way in: no port but the dashboard's, no shell. What the client has to know travels as marked
lines of the job's log, which Ray keeps: any machine with the run folder can follow, from the first line, at any time.
Modules that run on the cluster need nothing but Python: they travel with the run and are no part of what is installed.
"""
