"""What runs inside verl's processes: the CPU platform and its rollout engine, the reward function, the sampler.

Imports nothing of the other rooms. Modules here may import torch, Ray and verl; nothing outside may import them.
"""
