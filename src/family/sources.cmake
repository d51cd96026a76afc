power_sources(family.c builder.c rotary.c hf.c hf_config.c llama.c qwen.c qwen35.c refuse.c gemma.c phi3.c olmo2.c granite.c)
