"""Known failures of verl 0.9.1, each as a spec or a few keys, with the finding that has to come.

`SPECS`: a snippet over the minimal spec of conftest and `id@route`; `KEYS`: keys over a sound configuration and
`id@key`; `SHAPE`: a snippet that the schema refuses already. `LATE` says why the rest is not decided from a plan.
"""

from __future__ import annotations

SPECS: dict[str, tuple[str, str]] = {
    "A010": (
        "hardware: {train: {sequence_parallel: 2, micro_batch: {sequences: 1}}}\n"
        "algorithm: {name: reinforce++, batch: {prompts: 12}}",
        "ORB202@algorithm.batch.prompts",
    ),
    "A011": (
        "hardware: {train: {engine: megatron, tensor_parallel: 3}}",
        "ORB207@hardware.train.tensor_parallel",
    ),
    "A015": ("agent: {model: {path: m, lora: {rank: 1024}}}", "ORB318@agent.model.lora.rank"),
    "A022": ("algorithm: {optimizer: {schedule: linear}}", "ORB323@algorithm.optimizer.schedule"),
    "A024": ("hardware: {train: {engine: megatron, dtype: float32}}", "ORB324@hardware.train.dtype"),
    "A026": ("agent: {model: org/model/}", "ORB101@agent.model.path"),
    "A027": ("agent: {model: two-architectures}", "ORB118@agent.model.path"),
    "A030": ("hardware: 8xV100", "ORB116@hardware.accelerator"),
    "A037": ("algorithm: {batch: {prompts: 128, generation: 96}}", "ORB225@algorithm.batch.generation"),
    "A038": ("# rows: 100\nalgorithm: {batch: {prompts: 128}}", "ORB223@algorithm.batch.prompts"),
    "A046": ("run: {checkpoint: {resume: runs/first}}", "ORB103@run.checkpoint.resume"),
    "A048": ("# rows: 2560, 0\nrun: {evaluate: {before_training: true}}", "ORB106@dataset.validation"),
    "A051": (
        "hardware: {gpus_per_node: 1, rollout: {tensor_parallel: 2}}",
        "ORB203@hardware.rollout.tensor_parallel",
    ),
    "A052": (
        "hardware: {nodes: 3, rollout: {tensor_parallel: 12}}\nalgorithm: {batch: {prompts: 96}}",
        "ORB211@hardware.rollout.tensor_parallel",
    ),
    "A053": (
        "hardware: {nodes: 3, gpus_per_node: 4, rollout: {tensor_parallel: 6, data_parallel: 2}}",
        "ORB212@hardware.rollout.tensor_parallel",
    ),
    "A055": (
        "algorithm: {batch: {prompts: 64}}\nhardware: {train: {micro_batch: {sequences: 24}}}",
        "ORB205@hardware.train.micro_batch.sequences",
    ),
    "A056": (
        "algorithm: {batch: {prompts: 64}}\n"
        "hardware: {train: {micro_batch: {sequences: 8}}, reference: {micro_batch: {sequences: 48}}}",
        "ORB206@hardware.reference.micro_batch.sequences",
    ),
    "A058": (
        "agent: {limits: {response_tokens: 32768}}\nhardware: {train: {micro_batch: {tokens: 16384, dynamic: true}}}",
        "ORB209@hardware.train.micro_batch.tokens",
    ),
    "A059": (
        "hardware: {train: {engine: megatron, pipeline_parallel: 4, virtual_pipeline: 2}}\n"
        "algorithm: {name: reinforce++, batch: {prompts: 8, minibatch: 4}}",
        "ORB227@hardware.train.virtual_pipeline",
    ),
    "A060": (
        "agent: {model: Qwen/Qwen2.5-7B-Instruct}\nhardware: {train: {sequence_parallel: 8}}",
        "ORB221@hardware.train.sequence_parallel",
    ),
    "A061": ("hardware: {train: {shard_size: 3}}", "ORB208@hardware.train.shard_size"),
    "A062": (
        "agent: {model: {path: m, lora: {rank: 8, layered_summon: true}}}",
        "ORB319@agent.model.lora.layered_summon",
    ),
    "A068": ("agent: {model: {path: one-architecture, mtp: {train: true}}}", "ORB119@agent.model.mtp"),
    "A072": (
        "hardware: {rollout: {tensor_parallel: 4, expert_parallel: 2}}",
        "ORB213@hardware.rollout.expert_parallel",
    ),
    "A076": ("hardware: {rollout: {engine: transformers}}", "ORB115@hardware.rollout.engine"),
    "A078": (
        "agent: {model: Qwen/Qwen2.5-Math-7B, limits: {prompt_tokens: 1024, response_tokens: 4096}}",
        "ORB219@agent.limits.response_tokens",
    ),
    "A080": (
        "agent: {model: Qwen/Qwen2.5-72B-Instruct}\nhardware: {accelerator: A100-40GB}",
        "ORB230@hardware.accelerator",
    ),
    "A081": ("hardware: {rollout: {quantization: awq}}", "ORB321@hardware.rollout.quantization"),
    "A085": (
        "agent: {limits: {prompt_tokens: 1024}}\nhardware: {rollout: {max_sequence_tokens: 1024}}",
        "ORB218@hardware.rollout.max_sequence_tokens",
    ),
    "A092": ("dataset: {custom_class: rows.py}", "ORB430@dataset.custom_class"),
    "A098": (
        "agent: {limits: {drop_overlong: false}}\ndataset: {columns: {images: images}}",
        "ORB429@agent.limits.drop_overlong",
    ),
    "A100": ("rewards: {parts: [{builtin: exact_match}], manager: prime}", "ORB420@rewards.manager"),
    "A110": ("algorithm: {loss: gpso}", "ORB304@algorithm.loss.kind"),
    "A111": ("algorithm: {kl: {estimator: full}}", "ORB306@algorithm.kl.estimator"),
    "A113": ("algorithm: {clip: {low: 0.2, dual: 1.0}}", "ORB305@algorithm.clip.dual"),
    "A114": (
        "algorithm: {name: grpo-passk, batch: {samples_per_prompt: 1}}",
        "ORB301@algorithm.batch.samples_per_prompt",
    ),
    "A115": ("algorithm: {name: gdpo, trainer: v1}", "ORB302@algorithm.trainer"),
    "A120": ("run: {checkpoint: {resume: four-workers/global_step_10}}", "ORB120@run.checkpoint.resume"),
    "B013": ("hardware: {train: {prefix_grouper: true}}", "ORB322@hardware.train.prefix_grouper"),
    "B014": (
        "algorithm: {name: dapo, filter_groups: {max_batches: 10}}",
        "ORB314@algorithm.filter_groups.max_batches",
    ),
    "B018": (
        "algorithm: {name: ppo}\nhardware: {critic: {micro_batch: {tokens: 8192}}}",
        "ORB226@hardware.critic.micro_batch.tokens",
    ),
    "B020": (
        "hardware: {train: {micro_batch: {tokens: 16384, dynamic: true, sequences: 2}}}",
        "ORB226@hardware.train.micro_batch.sequences",
    ),
    "B021": ("algorithm: {critic: {learning_rate: 0.00001}}", "ORB113@algorithm.critic"),
    "B022": (
        "algorithm: {kl: {apply: none}}\nhardware: {reference: {offload: parameters}}",
        "ORB113@hardware.reference",
    ),
    "B023": ("algorithm: {kl: {apply: both, coefficient: 0.01}}", "ORB308@algorithm.kl.apply"),
    "B024": ("algorithm: {kl: {apply: none, coefficient: 0.01}}", "ORB307@algorithm.kl.coefficient"),
    "B025": ("algorithm: {batch: {samples_per_prompt: 1}}", "ORB301@algorithm.batch.samples_per_prompt"),
    "B026": (
        "algorithm: {loss: {aggregation: seq-mean-token-sum-norm}}",
        "ORB311@algorithm.loss.aggregation",
    ),
    "B028": (
        "algorithm: {name: ppo, trainer: v1, preference_feedback: {method: pow}}",
        "ORB313@algorithm.preference_feedback",
    ),
    "B029": (
        "algorithm: {rollout_correction: {bypass: true, importance: token}}",
        "ORB316@algorithm.rollout_correction.importance",
    ),
    "B032": ("algorithm: {batch: {prompts: 64, minibatch: 48}}", "ORB201@algorithm.batch.minibatch"),
    "B033": ("# rows: 1000\nalgorithm: {batch: {prompts: 128}}", "ORB224@algorithm.batch.prompts"),
    "B038": (
        "agent: {function_tools: t.py, turns: {max: 16, tool_response_characters: 2048}}",
        "ORB428@agent.limits.response_tokens",
    ),
    "B042": (
        "hardware: {nodes: 2}\nrun: {checkpoint: {folder: checkpoints}}",
        "ORB117@run.checkpoint.folder",
    ),
    "B043": ("run: {checkpoint: {asynchronous: true}}", "ORB104@run.checkpoint.asynchronous"),
    "B044": ("run: {checkpoint: {contents: [hf_model]}}", "ORB105@run.checkpoint.contents"),
    "B047": (
        "hardware: {nodes: 2}\nrun: {checkpoint: {folder: local}}",
        "ORB117@run.checkpoint.folder",
    ),
    "B064": (
        "algorithm: {overlong: {buffer_tokens: 64, max_tokens: 4096}}",
        "ORB422@algorithm.overlong.max_tokens",
    ),
    "B068": (
        "hardware: {rollout: {free_cache: false, memory_fraction: 0.9}}",
        "ORB217@hardware.rollout.free_cache",
    ),
    "B069": (
        "agent: {model: Qwen/Qwen2.5-32B-Instruct, limits: {response_tokens: 131072}}\n"
        "hardware: {accelerator: A100-40GB}",
        "ORB230@hardware.accelerator",
    ),
    "C003": ("hardware: {cluster: {cpus: 16}}", "ORB216@hardware.cluster.cpus"),
    "C007": (
        "hardware: {gpus_per_node: 4, cluster: {cpus: 16}, rollout: {placement: separate, gpus_per_node: 4}}",
        "ORB216@hardware.cluster.cpus",
    ),
    "C008": (
        "hardware: {rollout: {placement: separate, gpus_per_node: 2, tensor_parallel: 4}}",
        "ORB215@hardware.rollout.gpus_per_node",
    ),
    "C009": (
        "rewards: {parts: [{builtin: exact_match}], manager: remote, workers: 8}\n"
        "hardware: {gpus_per_node: 2, cluster: {cpus: 32}}",
        "ORB216@hardware.cluster.cpus",
    ),
    "C018": (
        "algorithm: {name: dapo, batch: {samples_per_prompt: 1}}",
        "ORB314@algorithm.batch.samples_per_prompt",
    ),
    "D001": (
        "hardware: {gpus_per_node: 1, storage_units: 8, cluster: {cpus: 8}}",
        "ORB216@hardware.cluster.cpus",
    ),
    "D003": ("hardware: {gpus_per_node: 8, cluster: {cpus: 24}}", "ORB216@hardware.cluster.cpus"),
    "D004": ("hardware: {nodes: 2, cluster: {kind: local}}", "ORB229@hardware.cluster.kind"),
    "D014": (
        "algorithm: {batch: {prompts: 256, samples_per_prompt: 8}}\n"
        "hardware: {rollout: {asynchronous: true, tensor_parallel: 8}}",
        "ORB231@algorithm.batch.prompts",
    ),
    "D015": (
        "hardware: {gpus_per_node: 4, cluster: {cpus: 8}, rollout: {placement: separate, gpus_per_node: 4}}",
        "ORB216@hardware.cluster.cpus",
    ),
    "D020": (
        "algorithm: {name: reinforce++, batch: {prompts: 1}}\nhardware: {train: {micro_batch: {sequences: 1}}}",
        "ORB202@algorithm.batch.prompts",
    ),
    "D021": (
        "hardware: {gpus_per_node: 6, train: {micro_batch: {sequences: 1}}}\n"
        "algorithm: {name: reinforce++, batch: {prompts: 32}}",
        "ORB202@algorithm.batch.prompts",
    ),
    "D022": (
        "algorithm: {batch: {prompts: 64}}\nhardware: {train: {micro_batch: {sequences: 48}}}",
        "ORB205@hardware.train.micro_batch.sequences",
    ),
    "D024": (
        "algorithm: {name: reinforce++, batch: {prompts: 16, minibatch: 4}}",
        "ORB204@algorithm.batch.minibatch",
    ),
    "D025": (
        "hardware: {nodes: 2}\nalgorithm: {name: reinforce++, batch: {prompts: 16, minibatch: 8}}",
        "ORB204@algorithm.batch.minibatch",
    ),
    "D026": (
        "algorithm: {batch: {prompts: 64, minibatch: 512}}\nhardware: {train: {micro_batch: {sequences: 8}}}",
        "ORB201@algorithm.batch.minibatch",
    ),
    "D029": (
        "hardware: {gpus_per_node: 1, rollout: {tensor_parallel: 2}}",
        "ORB203@hardware.rollout.tensor_parallel",
    ),
    "D030": (
        "hardware: {nodes: 1, gpus_per_node: 1, rollout: {tensor_parallel: 2}}",
        "ORB203@hardware.rollout.tensor_parallel",
    ),
    "D031": (
        "agent: {model: Qwen/Qwen2.5-7B-Instruct}\nhardware: {rollout: {data_parallel: 2}}",
        "ORB232@hardware.rollout.data_parallel",
    ),
    "D033": (
        "agent: {model: Qwen/Qwen2.5-7B-Instruct}\nhardware: {rollout: {tensor_parallel: 8}}",
        "ORB220@hardware.rollout.tensor_parallel",
    ),
    "D034": (
        "agent: {model: Qwen/Qwen2.5-0.5B-Instruct}\nhardware: {rollout: {tensor_parallel: 8}}",
        "ORB220@hardware.rollout.tensor_parallel",
    ),
    "D035": (
        "agent: {limits: {prompt_tokens: 8192, response_tokens: 32768}}\n"
        "hardware: {train: {micro_batch: {tokens: 16384, dynamic: true}}}",
        "ORB209@hardware.train.micro_batch.tokens",
    ),
    "D037": (
        "hardware: {train: {engine: megatron, pipeline_parallel: 4, virtual_pipeline: 2}}\n"
        "algorithm: {name: reinforce++, batch: {prompts: 8, minibatch: 4}}",
        "ORB227@hardware.train.virtual_pipeline",
    ),
    "D038": (
        "agent: {model: Qwen/Qwen2.5-Math-7B, limits: {prompt_tokens: 1024, response_tokens: 4000}}",
        "ORB219@agent.limits.response_tokens",
    ),
    "D040": ("agent: {limits: {drop_overlong: false}}", "ORB429@agent.limits.drop_overlong"),
    "D041": (
        "agent: {limits: {drop_overlong: false, truncation: right}}",
        "ORB429@agent.limits.truncation",
    ),
    "D046": (
        "agent: {model: Qwen/Qwen2.5-72B-Instruct}\n"
        "hardware: {accelerator: A100-40GB, rollout: {memory_fraction: 0.9}}",
        "ORB230@hardware.accelerator",
    ),
    "D047": ("hardware: {rollout: {memory_fraction: 0.98}}", "ORB217@hardware.rollout.memory_fraction"),
    "D048": (
        "agent: {model: Qwen/Qwen2.5-32B-Instruct, limits: {response_tokens: 131072}}\n"
        "hardware: {accelerator: A100-40GB}",
        "ORB230@hardware.accelerator",
    ),
    "D049": (
        "hardware: {gpus_per_node: 6, rollout: {tensor_parallel: 4, free_cache: false}}",
        "ORB203@hardware.rollout.tensor_parallel",
    ),
    "D072": (
        "algorithm: {name: ppo}\nhardware: {critic: {micro_batch: {sequences: 2, dynamic: false}}}",
        "ORB226@hardware.critic.micro_batch.sequences",
    ),
    "D075": (
        "hardware: {train: {engine: megatron}}\nrun: {checkpoint: {asynchronous: true, keep: 1}}",
        "ORB104@run.checkpoint.keep",
    ),
    "D081": (
        "hardware: {nodes: 2}\nrun: {checkpoint: {folder: out}}",
        "ORB117@run.checkpoint.folder",
    ),
    "D089": ("run: {log: ['[console,swanlab]']}", "ORB102@run.log"),
    "D093": ("algorithm: {kl: {apply: both}}", "ORB308@algorithm.kl.apply"),
    "D094": ("algorithm: {name: reinforce++, kl: {apply: loss}}", "ORB309@algorithm.kl.apply"),
    "D095": (
        "algorithm: {kl: {apply: loss, reward_coefficient: 0.01}}",
        "ORB307@algorithm.kl.reward_coefficient",
    ),
    "D097": ("run: {evaluate: {sample: true}}", "ORB112@run.evaluate.sample"),
    "D099": ("agent: {model: {path: m, lora: {rank: 600}}}", "ORB318@agent.model.lora.rank"),
    "D100": (
        "agent: {model: {path: m, lora: {rank: 8, layered_summon: true}}}",
        "ORB319@agent.model.lora.layered_summon",
    ),
    "D101": (
        "agent: {limits: {drop_overlong: false, truncation: right}}\ndataset: {columns: {images: images}}",
        "ORB429@agent.limits.drop_overlong",
    ),
    "D107": (
        "agent: {function_tools: t.py, limits: {response_tokens: 4096}}",
        "ORB330@agent.function_tools",
    ),
}

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
SEPARATE = {
    "trainer.v1.trainer_mode": "separate_async",
    "data.train_batch_size": 256,
    f"{ACTOR}.ppo_mini_batch_size": 64,
    f"{ROLLOUT}.nnodes": 1,
    f"{ROLLOUT}.checkpoint_engine.backend": "nccl",
}
TEACHER = {"distillation.enabled": True, "distillation.teacher_models.teacher_model.model_path": "m"}

KEYS: dict[str, tuple[dict[str, object], str]] = {
    "A005": ({f"{ROLLOUT}.name": "???"}, f"ORB610@{ROLLOUT}.name"),
    "A006": ({f"{ACTOR}.optim.lr": "1e-6"}, f"ORB622@{ACTOR}.optim.lr"),
    "A007": ({f"{ACTOR}.use_kl_loss": "False"}, f"ORB622@{ACTOR}.use_kl_loss"),
    "A009": ({"algorithm.adv_estimator": "gae", "critic.strategy": "fsdp"}, "ORB621@critic.strategy"),
    "A013": (
        {f"{ACTOR}.use_dynamic_bsz": False, f"{ACTOR}.ppo_micro_batch_size": 64},
        f"ORB613@{ACTOR}.ppo_micro_batch_size_per_gpu",
    ),
    "A016": (
        {
            f"{ACTOR}.strategy": "megatron",
            f"{ACTOR}.megatron.router_replay.mode": "R2",
            "algorithm.rollout_correction.bypass_mode": True,
        },
        "ORB620@algorithm.rollout_correction.bypass_mode",
    ),
    "A018": ({f"{ACTOR}.loss_agg_mode": "token_mean"}, f"ORB614@{ACTOR}.loss_agg_mode"),
    "A031": ({f"{ACTOR}.torchtitan.attn_type": "sdpa"}, f"ORB614@{ACTOR}.torchtitan.attn_type"),
    "A032": ({"trainer.v1.trainer_mode": "async"}, "ORB614@trainer.v1.trainer_mode"),
    "A036": ({**TEACHER, "distillation.nnodes": 0}, "ORB617@distillation.nnodes"),
    "A039": ({**SEPARATE, "data.train_batch_size": 250}, "ORB615@data.train_batch_size"),
    "A040": ({**SEPARATE, f"{ACTOR}.ppo_mini_batch_size": 256}, "ORB615@data.train_batch_size"),
    "A041": ({**SEPARATE, f"{ROLLOUT}.nnodes": 0}, f"ORB615@{ROLLOUT}.nnodes"),
    "A043": (
        {**SEPARATE, "reward.reward_model.enable": True},
        "ORB615@reward.reward_model.enable_resource_pool",
    ),
    "A045": (
        {"trainer.v1.sampler.max_off_policy_threshold": 0},
        "ORB616@trainer.v1.sampler.max_off_policy_threshold",
    ),
    "A063": (
        {f"{ACTOR}.calculate_sum_pi_squared": True, "actor_rollout_ref.model.use_fused_kernels": True},
        "ORB624@actor_rollout_ref.model.use_fused_kernels",
    ),
    "A066": (
        {f"{ACTOR}.strategy": "megatron", f"{ACTOR}.megatron.dynamic_context_parallel": True},
        f"ORB623@{ACTOR}.megatron.max_seqlen_per_dp_cp_rank",
    ),
    "A067": (
        {f"{ACTOR}.checkpoint.save_contents": ["model", "optimiser"]},
        f"ORB639@{ACTOR}.checkpoint.save_contents",
    ),
    "A070": ({f"{ROLLOUT}.mode": "sync"}, f"ORB619@{ROLLOUT}.mode"),
    "A075": (
        {f"{ROLLOUT}.disaggregation.enabled": True, f"{ROLLOUT}.disaggregation.transfer_backend": "mori"},
        f"ORB625@{ROLLOUT}.disaggregation.transfer_backend",
    ),
    "A117": (
        {
            **TEACHER,
            "distillation.nnodes": 1,
            "distillation.n_gpus_per_node": 3,
        },
        "ORB617@distillation.n_gpus_per_node",
    ),
    "A122": (
        {"data.train_batch_size": 16384, f"{ROLLOUT}.n": 8},
        "ORB626@transfer_queue.backend.SimpleStorage.total_storage_size",
    ),
    "B001": ({"custom_reward_function.path": "rewards.py"}, "ORB611@custom_reward_function.path"),
    "B004": ({"trainer.esi_redundant_time": 60}, "ORB612@trainer.esi_redundant_time"),
    "B009": ({"data.reward_fn_key": "source"}, "ORB612@data.reward_fn_key"),
    "B010": ({"data.return_raw_input_ids": True}, "ORB612@data.return_raw_input_ids"),
    "B015": ({f"{ACTOR}.grad_clip": 0.5}, f"ORB612@{ACTOR}.grad_clip"),
    "B019": (
        {"algorithm.adv_estimator": "gae", "critic.ulysses_sequence_parallel_size": 2},
        "ORB612@critic.ulysses_sequence_parallel_size",
    ),
    "B030": ({"trainer.critic_warmup": 20}, "ORB630@trainer.critic_warmup"),
    "B041": (
        {"trainer.resume_mode": "auto", "trainer.default_local_dir": "checkpoints/verl_examples/gsm8k"},
        "ORB631@trainer.default_local_dir",
    ),
    "B045": ({"trainer.default_hdfs_dir": "hdfs://x"}, "ORB612@trainer.default_hdfs_dir"),
    "B048": ({"actor_rollout_ref.model.lora.rank": 32}, "ORB632@actor_rollout_ref.model.lora.rank"),
    "B052": (
        {
            **SEPARATE,
            "actor_rollout_ref.hybrid_engine": False,
            "trainer.v1.separate_async.hybrid_rollout.enable_switch": True,
        },
        "ORB629@trainer.v1.separate_async.hybrid_rollout.enable_switch",
    ),
    "B056": (
        {"reward.reward_model.enable_resource_pool": True, "reward.reward_model.nnodes": 1},
        "ORB618@reward.reward_model.enable_resource_pool",
    ),
    "C020": (
        {
            "trainer.v1.trainer_mode": "colocate_async",
            "trainer.v1.sampler.max_off_policy_threshold": 1,
            f"{ROLLOUT}.multi_turn.enable": True,
        },
        "ORB616@trainer.v1.sampler.max_off_policy_threshold",
    ),
    "D010": ({"data.reward_fn_key": ["data_source"]}, "ORB612@data.reward_fn_key"),
    "D023": (
        {f"{ACTOR}.use_dynamic_bsz": False, f"{ROLLOUT}.log_prob_micro_batch_size": 64},
        f"ORB613@{ROLLOUT}.log_prob_micro_batch_size_per_gpu",
    ),
    "D068": (
        {
            "reward.reward_model.enable": True,
            "reward.reward_model.enable_resource_pool": True,
            "reward.reward_model.nnodes": 1,
            "reward.reward_model.model_path": "m",
        },
        "ORB645@reward.reward_model.enable_resource_pool",
    ),
    "D070": ({"reward_model.reward_manager": "dapo"}, "ORB611@reward_model.reward_manager"),
    "D090": ({"trainer.use_v1": False}, "ORB638@trainer.use_v1"),
    "D109": (
        {"data.train_batch_size": 20000, f"{ROLLOUT}.n": 8},
        "ORB626@transfer_queue.backend.SimpleStorage.total_storage_size",
    ),
}

SHAPE: dict[str, str] = {
    "A007": "algorithm: {log_entropy: 'False'}",
    "A028": "agent: {model: {path: m, lora: {rank: 8, targets: 3}}}",
    "A006": "algorithm: {learning_rate: '1e-6'}",
}

SITE = "needs the cluster: checked on the site, before a run"
DATA = "needs the rows: checked where the dataset is read"
CODE = "needs the user's code to run: a probe, not a plan"
RUN = "known only while the run lasts"
NEVER = "cannot be written in the language, and compiled files never hold it"
LATE: dict[str, str] = {
    "A025": SITE,
    "A050": SITE,
    "A069": "needs the critic's architecture and the package trl",
    "A083": SITE,
    "A086": DATA,
    "A088": DATA,
    "A089": DATA,
    "A090": DATA,
    "A094": "needs the tokenizer",
    "A099": "reward files are found where inputs are read: ORB401 to ORB403",
    "A101": "concerns code that builds verl's reward dataclass; nothing here does",
    "A102": CODE,
    "A105": DATA,
    "A106": CODE,
    "A108": "needs the reward model's architecture",
    "A118": DATA,
    "A121": SITE,
    "B002": "the value is verl's default, and forced to the other one",
    "B007": DATA,
    "B034": "the plan always decides a seed",
    "B046": "needs the disk: checked on the site",
    "B057": SITE,
    "B060": CODE,
    "B061": CODE,
    "C004": SITE,
    "C010": NEVER,
    "C012": SITE,
    "C013": SITE,
    "C015": SITE,
    "C021": CODE,
    "C023": SITE,
    "D006": SITE,
    "D007": SITE,
    "D009": SITE,
    "D011": SITE,
    "D012": SITE,
    "D013": RUN,
    "D016": RUN,
    "D018": SITE,
    "D027": "a matter of units: the plan shows prompts and sequences apart",
    "D032": "Megatron packs to the tensor-parallel size in this release",
    "D039": "concerns another dataset class; verl's own drops long prompts",
    "D045": "mended in this release: the value reaches vLLM",
    "D050": "needs the host's memory: checked on the site",
    "D051": RUN,
    "D052": "needs the host's memory: checked on the site",
    "D053": "needs the host's memory: checked on the site",
    "D054": DATA,
    "D058": DATA,
    "D059": DATA,
    "D060": DATA,
    "D061": CODE,
    "D062": CODE,
    "D063": CODE,
    "D064": CODE,
    "D065": CODE,
    "D066": CODE,
    "D067": CODE,
    "D083": SITE,
    "D085": "unknown keys are refused against the target's catalogue: ORB601",
    "D091": "mended in this release",
    "D098": "the steps of staleness are what asynchronous training is; the plan names the mode",
    "D102": "needs the tokenizer",
    "D105": DATA,
    "D108": "not one failure but a policy: what is ignored is reported",
}
