"""The steps of `dataset.pipeline`, a module each; `data.pipeline.STEPS` lists them."""
