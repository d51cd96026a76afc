power_sources(admit.c commit.c constrain.c counted.c engine.c forward.c jobs.c limits.c model.c model_digest.c
              model_engine.c model_templates.c prepare.c queue.c request.c sample.c sampler.c saved.c
              schedule.c state.c
              state_kv.c state_pool.c state_save.c state_slot.c step.c)
