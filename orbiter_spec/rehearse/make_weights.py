"""Writes random weights for the config.json in a folder; a program of its own because it loads torch.

python -m orbiter_spec.rehearse.make_weights FOLDER SEED [--trust-remote-code]
"""

from __future__ import annotations

import sys


def main(folder: str, seed: int, trust_remote_code: bool) -> None:
    """Make the model in float32 and save it beside its config."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(seed)
    config = AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)
    model = AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation="eager", trust_remote_code=trust_remote_code
    )
    model.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), "--trust-remote-code" in sys.argv[3:])
