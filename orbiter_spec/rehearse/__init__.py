"""A rehearsal: any spec, shrunk to this machine and really run, so that its wiring is proved before GPUs are booked.

    shrink   what changes in the spec, change by change, and what no CPU can show
    services what the spec asks over the network, and the stand-in that answers in its place
    model    the same family with random weights, two layers deep; its tokenizer where this machine has one
    probes   questions that need no training: does the chat template open a turn, does an answer fit
    agents   the environment walked and the tools called, without a model
    outcome  what a finished rehearsal has shown

The shrunk spec is the spec with `--set` arguments laid over it, so its findings point at the user's own lines and the
run can be repeated by hand.
"""
